/* A query's documents in the order of two rankers, and what the features add between two of them. */
const ROW = 34;

function gradeColour(grade, grades) {
  const different = [...new Set(grades)].sort((one, other) => one - other);
  const colours = DATA.classColours[Math.min(different.length, DATA.classColours.length) - 1];
  return colours[Math.min(different.indexOf(grade), colours.length - 1)];
}

function gradeKey(grades, word) {
  const different = [...new Set(grades)].sort((one, other) => one - other);
  return different.flatMap((grade) => [element("span", { class: "grade", style: `--grade:${gradeColour(grade, grades)}` }, short(grade)), `${word} ${short(grade)}`]);
}

class Explorer {
  constructor(root, view) {
    this.root = root;
    this.view = view;
    this.examples = view.data.examples;
    this.allGrades = this.examples.queries.flatMap((one) => one.grades);
    this.queryPicker = root.querySelector('[data-pick="query"]');
    this.queryPicker.addEventListener("change", () => this.draw());
    for (const which of ["better", "worse"]) root.querySelector(`[data-pick="${which}"]`).addEventListener("change", () => this.drawPair());
    view.onPair.push(() => this.draw());
    root.querySelector('[data-text="grades"]').replaceChildren(...gradeKey(this.allGrades, "grade"));
    keepDrawn(() => this.draw());
  }

  get query() { return this.examples.queries[Number(this.queryPicker.value)]; }

  draw() {
    offer(this.queryPicker, this.examples.queries.map((one, n) => [n, `${one.query} (${one.fold}, ${counted(one.documents.length, "document")})`]));
    const lists = this.root.querySelector(".lists");
    const orders = ["a", "b"].map((which) => this.order(this.view[which]));
    lists.replaceChildren(this.head("a"), element("div", { class: "head between" }), this.head("b"),
      this.list("a", orders[0]), this.links(...orders), this.list("b", orders[1]));
    this.offerDocuments();
    this.drawPair();
  }

  order(ranker) {
    const scores = this.query.by[ranker]?.scores;
    if (!scores) return [];
    return scores.map((_, row) => row).sort((one, other) => scores[other] - scores[one] || one - other);
  }

  head(which) {
    const name = this.view[which];
    const of = this.view.data.perQuery[this.view.metric];
    const place = of ? of.queries.findIndex((query, n) => query === this.query.query && of.folds[n] === this.query.fold) : -1;
    const value = place < 0 ? null : of.values[name]?.[place];
    return element("div", { class: "head" }, element("span", { class: `swatch ${which}` }), name,
      element("span", { class: "quiet" }, value === null || value === undefined ? "" : ` ${this.view.metric.toUpperCase()} ${value.toFixed(3)}`));
  }

  list(which, order) {
    const query = this.query, scores = query.by[this.view[which]]?.scores || [];
    const gaps = order.slice(1).map((row, n) => scores[order[n]] - scores[row]);
    const widest = Math.max(...gaps, 1e-12);
    return element("ol", { "data-list": which }, ...order.map((row, place) => {
      const known = query.explained.includes(row);
      const button = element("button", { type: "button", "data-row": row, disabled: !known, title: `${query.documents[row]}: score ${scores[row]}` + (place < gaps.length ? `, ${gaps[place].toPrecision(3)} above the next` : "") },
        element("span", { class: "place" }, String(place + 1)),
        element("span", { class: "grade", style: `--grade:${gradeColour(query.grades[row], this.allGrades)}` }, short(query.grades[row])),
        element("span", { class: "id" }, query.documents[row]),
        element("span", { class: "score" }, scores[row].toFixed(3)));
      button.addEventListener("click", () => this.choose(row));
      for (const [event, on] of [["mouseenter", true], ["focus", true], ["mouseleave", false], ["blur", false]]) button.addEventListener(event, () => this.mark(row, on));
      const gap = place < gaps.length ? element("span", { class: "gap", style: `width:calc(${((gaps[place] / widest) * 100).toFixed(2)}% * .82)` }) : null;
      return element("li", {}, button, gap);
    }));
  }

  links(first, second) {
    const height = first.length * ROW;
    const svg = drawn("svg", { viewBox: `0 0 72 ${height || 1}`, preserveAspectRatio: "none", height, "aria-hidden": "true" });
    first.forEach((row, place) => {
      const from = place * ROW + 15, to = second.indexOf(row) * ROW + 15;
      if (second.includes(row)) svg.append(drawn("path", { "data-row": row, d: `M0 ${from}C36 ${from} 36 ${to} 72 ${to}`, stroke: gradeColour(this.query.grades[row], this.allGrades) }));
    });
    return svg;
  }

  mark(row, on) {
    for (const one of all(`.lists [data-row="${row}"]`, this.root)) one.classList.toggle("same", on);
  }

  /* The first document that is chosen is the better one, the next the worse; then it begins anew. */
  choose(row) {
    const which = this.next === "worse" ? "worse" : "better";
    this.next = which === "better" ? "worse" : "better";
    this.root.querySelector(`[data-pick="${which}"]`).value = String(row);
    this.drawPair();
  }

  offerDocuments() {
    const { explained, documents, grades } = this.query;
    const inOrder = this.order(this.view.a).filter((row) => explained.includes(row));
    const options = (inOrder.length ? inOrder : explained).map((row) => [row, `${documents[row]} (grade ${short(grades[row])})`]);
    const same = this.offered === this.query;
    this.offered = this.query;
    offer(this.root.querySelector('[data-pick="better"]'), options, same ? undefined : options[0][0]);
    offer(this.root.querySelector('[data-pick="worse"]'), options, same ? undefined : options[options.length - 1][0]);
  }

  drawPair() {
    const [better, worse] = ["better", "worse"].map((which) => Number(this.root.querySelector(`[data-pick="${which}"]`).value));
    for (const button of all(".lists button", this.root)) button.setAttribute("aria-pressed", String([better, worse].includes(Number(button.dataset.row))));
    const names = [...new Set([this.view.a, this.view.b])];
    this.root.querySelector(".why").replaceChildren(...names.map((name) => this.why(name, better, worse)));
  }

  why(ranker, better, worse) {
    const { by, explained, values } = this.query;
    const of = by[ranker];
    if (better === worse) return element("p", { class: "note" }, "Choose two different documents.");
    if (!of?.why) return element("p", { class: "note" }, `${ranker} cannot be explained.`);
    const [i, j] = [explained.indexOf(better), explained.indexOf(worse)].sort((one, other) => one - other);
    const n = explained.length;
    const pair = i * n - (i * (i + 1)) / 2 + (j - i - 1);
    const sign = explained[i] === better ? 1 : -1;
    const parts = of.why.features[pair].map((feature, place) => ({
      name: this.examples.features[feature], adds: sign * of.why.adds[pair][place],
      values: [values[explained.indexOf(better)][feature], values[explained.indexOf(worse)][feature]],
    }));
    const rest = this.examples.features.length - parts.length;
    const difference = of.scores[better] - of.scores[worse];
    const others = sign * of.why.others[pair];
    const name = rest ? `${rest} other feature${rest > 1 ? "s" : ""}, remainder` : "remainder";
    // Without other features it is what rounding and the steps of the explanation leave over.
    if (rest || Math.abs(others) > 1e-3 * Math.abs(difference)) parts.push({ name, adds: others, values: null });
    return this.whyTable(ranker, of.why.method, parts, difference);
  }

  whyTable(ranker, method, parts, difference) {
    const most = Math.max(...parts.map((part) => Math.abs(part.adds)), 1e-12);
    const told = (value) => (value === null ? "missing" : short(value));
    const rows = parts.map((part) => element("tr", {},
      element("th", { scope: "row", class: "feature", title: part.values ? `${part.name}: ${part.values.map(told).join(" against ")}` : part.name }, part.name,
        part.values ? element("span", { class: "quiet" }, ` ${part.values.map(told).join(" / ")}`) : null),
      element("td", { class: "track-cell" }, element("span", { class: `part ${part.adds >= 0 ? "plus" : "minus"}`, style: `${part.adds >= 0 ? "left" : "right"}:50%;width:${((Math.abs(part.adds) / most) * 50).toFixed(2)}%` })),
      element("td", { class: "number", "data-adds": part.adds }, signed(part.adds))));
    return element("table", { "data-ranker": ranker },
      element("caption", {}, element("strong", {}, ranker), element("span", { class: "quiet" }, ` by ${method}`)),
      element("colgroup", {}, element("col"), element("col", { class: "track" }), element("col", { class: "adds" })),
      element("tbody", {}, ...rows, element("tr", { class: "total" }, element("th", { scope: "row" }, "difference of scores"), element("td"), element("td", { class: "number", "data-difference": difference }, signed(difference)))));
  }
}
