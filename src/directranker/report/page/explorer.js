/* A query's documents as two rankers order them, and the contributions of features between two documents. */
const ROW = 34;

function gradeColour(grade, grades) {
  const distinct = [...new Set(grades)].sort((one, other) => one - other);
  const colours = DATA.classColours[Math.min(distinct.length, DATA.classColours.length) - 1];
  return colours[Math.min(distinct.indexOf(grade), colours.length - 1)];
}

function gradeKey(grades, noun) {
  const distinct = [...new Set(grades)].sort((one, other) => one - other);
  return distinct.flatMap((grade) => [element("span", { class: "grade", style: `--grade:${gradeColour(grade, grades)}` }, formatNumber(grade)), `${noun} ${formatNumber(grade)}`]);
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
    drawOnResize(() => this.draw());
  }

  get query() { return this.examples.queries[Number(this.queryPicker.value)]; }

  draw() {
    setOptions(this.queryPicker, this.examples.queries.map((one, n) => [n, `${one.query} (${one.fold}, ${pluralise(one.documents.length, "document")})`]));
    const lists = this.root.querySelector(".lists");
    const orders = ["a", "b"].map((which) => this.order(this.view[which]));
    lists.replaceChildren(this.head("a"), element("div", { class: "head between" }), this.head("b"),
      this.list("a", orders[0]), this.links(...orders), this.list("b", orders[1]));
    this.setDocumentOptions();
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
    const index = of ? of.queries.findIndex((query, n) => query === this.query.query && of.folds[n] === this.query.fold) : -1;
    const value = index < 0 ? null : of.values[name]?.[index];
    return element("div", { class: "head" }, element("span", { class: `swatch ${which}` }), name,
      element("span", { class: "quiet" }, value === null || value === undefined ? "" : ` ${this.view.metric.toUpperCase()} ${value.toFixed(3)}`));
  }

  list(which, order) {
    const query = this.query, scores = query.by[this.view[which]]?.scores || [];
    const gaps = order.slice(1).map((row, n) => scores[order[n]] - scores[row]);
    const widest = Math.max(...gaps, 1e-12);
    return element("ol", { "data-list": which }, ...order.map((row, index) => {
      const isExplained = query.explained.includes(row);
      const button = element("button", { type: "button", "data-row": row, disabled: !isExplained, title: `${query.documents[row]}: score ${scores[row]}` + (index < gaps.length ? `, ${gaps[index].toPrecision(3)} above the next` : "") },
        element("span", { class: "rank" }, String(index + 1)),
        element("span", { class: "grade", style: `--grade:${gradeColour(query.grades[row], this.allGrades)}` }, formatNumber(query.grades[row])),
        element("span", { class: "id" }, query.documents[row]),
        element("span", { class: "score" }, scores[row].toFixed(3)));
      button.addEventListener("click", () => this.selectDocument(row));
      for (const [event, on] of [["mouseenter", true], ["focus", true], ["mouseleave", false], ["blur", false]]) button.addEventListener(event, () => this.mark(row, on));
      const gap = index < gaps.length ? element("span", { class: "gap", style: `width:calc(${((gaps[index] / widest) * 100).toFixed(2)}% * .82)` }) : null;
      return element("li", {}, button, gap);
    }));
  }

  links(first, second) {
    const height = first.length * ROW;
    const svg = svgElement("svg", { viewBox: `0 0 72 ${height || 1}`, preserveAspectRatio: "none", height, "aria-hidden": "true" });
    first.forEach((row, index) => {
      const from = index * ROW + 15, to = second.indexOf(row) * ROW + 15;
      if (second.includes(row)) svg.append(svgElement("path", { "data-row": row, d: `M0 ${from}C36 ${from} 36 ${to} 72 ${to}`, stroke: gradeColour(this.query.grades[row], this.allGrades) }));
    });
    return svg;
  }

  mark(row, on) {
    for (const one of all(`.lists [data-row="${row}"]`, this.root)) one.classList.toggle("same", on);
  }

  /* Clicks select the better and the worse document in turn. */
  selectDocument(row) {
    const which = this.next === "worse" ? "worse" : "better";
    this.next = which === "better" ? "worse" : "better";
    this.root.querySelector(`[data-pick="${which}"]`).value = String(row);
    this.drawPair();
  }

  setDocumentOptions() {
    const { explained, documents, grades } = this.query;
    const inOrder = this.order(this.view.a).filter((row) => explained.includes(row));
    const options = (inOrder.length ? inOrder : explained).map((row) => [row, `${documents[row]} (grade ${formatNumber(grades[row])})`]);
    const isSameQuery = this.lastQuery === this.query;
    this.lastQuery = this.query;
    setOptions(this.root.querySelector('[data-pick="better"]'), options, isSameQuery ? undefined : options[0][0]);
    setOptions(this.root.querySelector('[data-pick="worse"]'), options, isSameQuery ? undefined : options[options.length - 1][0]);
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
    if (better === worse) return element("p", { class: "note" }, "Select two different documents.");
    if (!of?.why) return element("p", { class: "note" }, `No explanation is available for ${ranker}.`);
    const [i, j] = [explained.indexOf(better), explained.indexOf(worse)].sort((one, other) => one - other);
    const n = explained.length;
    const pair = i * n - (i * (i + 1)) / 2 + (j - i - 1);
    const sign = explained[i] === better ? 1 : -1;
    const contributions = of.why.features[pair].map((feature, index) => ({
      name: this.examples.features[feature], adds: sign * of.why.adds[pair][index],
      values: [values[explained.indexOf(better)][feature], values[explained.indexOf(worse)][feature]],
    }));
    const rest = this.examples.features.length - contributions.length;
    const difference = of.scores[better] - of.scores[worse];
    const others = sign * of.why.others[pair];
    const name = rest ? `${rest} other feature${rest > 1 ? "s" : ""} and remainder` : "remainder";
    // Without other features, the remainder is the error of rounding and of the numerical integral.
    if (rest || Math.abs(others) > 1e-3 * Math.abs(difference)) contributions.push({ name, adds: others, values: null });
    return this.whyTable(ranker, of.why.method, contributions, difference);
  }

  whyTable(ranker, method, contributions, difference) {
    const largest = Math.max(...contributions.map((part) => Math.abs(part.adds)), 1e-12);
    const format = (value) => (value === null ? "missing" : typeof value === "string" ? value : formatNumber(value));
    const rows = contributions.map((part) => element("tr", {},
      element("th", { scope: "row", class: "feature", title: part.values ? `${part.name}: ${part.values.map(format).join(" vs. ")}` : part.name }, part.name,
        part.values ? element("span", { class: "quiet" }, ` ${part.values.map(format).join(" / ")}`) : null),
      element("td", { class: "track-cell" }, element("span", { class: `contribution ${part.adds >= 0 ? "plus" : "minus"}`, style: `${part.adds >= 0 ? "left" : "right"}:50%;width:${((Math.abs(part.adds) / largest) * 50).toFixed(2)}%` })),
      element("td", { class: "number", "data-adds": part.adds }, formatSigned(part.adds))));
    return element("table", { "data-ranker": ranker },
      element("caption", {}, element("strong", {}, ranker), element("span", { class: "quiet" }, ` by ${method}`)),
      element("colgroup", {}, element("col"), element("col", { class: "track" }), element("col", { class: "adds" })),
      element("tbody", {}, ...rows, element("tr", { class: "total" }, element("th", { scope: "row" }, "score difference"), element("td"), element("td", { class: "number", "data-difference": difference }, formatSigned(difference)))));
  }
}
