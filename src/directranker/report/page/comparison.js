/* A comparison: the best ranker, the table, scores against training time, and two rankers side by side. */
class ComparisonView {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.metric = data.metrics[0];
    const order = this.sortedRankers();
    this.a = (order[0] || data.rankers[0]).name;
    this.b = (order[1] || data.rankers[0]).name;
    this.colours = Object.fromEntries(data.rankers.map((one, n) => [one.name, DATA.colours[n % DATA.colours.length]]));
    this.onPair = [];
    for (const button of all("[data-metric]", root)) button.addEventListener("click", () => this.selectMetric(button.dataset.metric));
    all("table.sortable", root).forEach(makeSortable);
    this.preparePickers();
    drawOnResize(() => this.draw());
  }

  chart(name) { return this.root.querySelector(`[data-chart="${name}"]`); }

  sortedRankers() {
    return this.data.rankers.filter((one) => one.by[this.metric].mean !== null)
      .sort((one, other) => other.by[this.metric].mean - one.by[this.metric].mean);
  }

  selectMetric(metric) {
    this.metric = metric;
    for (const button of all("[data-metric]", this.root)) button.setAttribute("aria-pressed", String(button.dataset.metric === metric));
    for (const verdict of all("[data-of-metric]", this.root)) verdict.hidden = verdict.dataset.ofMetric !== metric;
    this.draw();
    this.onPair.forEach((notify) => notify());
  }

  preparePickers() {
    const names = this.data.rankers.map((one) => [one.name, one.name]);
    for (const which of ["a", "b"]) {
      for (const select of all(`[data-pick="${which}"]`, this.root)) {
        setOptions(select, names, this[which]);
        select.addEventListener("change", () => this.selectRanker(which, select.value));
      }
    }
  }

  selectRanker(which, name) {
    this[which] = name;
    for (const select of all(`[data-pick="${which}"]`, this.root)) select.value = name;
    this.drawPair();
    this.onPair.forEach((notify) => notify());
  }

  draw() {
    for (const span of all("[data-metric-name]", this.root)) span.textContent = this.metric.toUpperCase();
    this.drawStanding();
    this.drawTime();
    this.drawPair();
  }

  drawStanding() {
    const rankers = this.sortedRankers();
    const figure = this.chart("standing");
    const narrow = (figure.clientWidth || 640) < 480;
    const ends = rankers.flatMap(({ by }) => {
      const { mean, error, published } = by[this.metric];
      return [mean - (error || 0), mean + (error || 0), published && !published.note ? published.mean : null];
    });
    const { svg, x, width } = axes(figure, {
      height: rankers.length * 27 + 54, left: narrow ? 118 : 160, right: 62, top: 6,
      makeX: (range) => linear(padDomain(ends, [0, 1]), range), labelX: this.metric.toUpperCase(),
      describe: `${this.metric.toUpperCase()} of ${rankers.length} rankers, best first: ` + rankers.map((one) => `${one.name} ${one.by[this.metric].mean.toFixed(3)}`).join(", "),
    });
    rankers.forEach((one, index) => {
      const { mean, error, published, standing } = one.by[this.metric];
      const y = 22 + index * 27;
      const row = svgElement("g", { class: standing, "data-ranker": one.name, "data-mean": mean },
        svgElement("title", {}, `${one.name}: ${mean.toFixed(4)}${error === null ? "" : ` ± ${error.toFixed(4)}`}`),
        svgElement("text", { class: standing === "worse" ? "name" : "name strong", x: narrow ? 0 : 4, y: y + 4 }, one.name));
      if (error !== null) row.append(svgElement("line", { class: "bar", x1: x(mean - error), x2: x(mean + error), y1: y, y2: y }));
      row.append(svgElement("circle", { cx: x(mean), cy: y, r: 5 }),
        svgElement("text", { class: standing === "best" ? "strong" : "", x: width - 4, y: y + 4, "text-anchor": "end" }, mean.toFixed(3)));
      if (published && !published.note) row.append(diamond(x(published.mean), y, `published: ${published.mean}`));
      svg.append(row);
    });
  }

  drawTime() {
    const rankers = this.sortedRankers();
    const figure = this.chart("time");
    if (!figure) return;
    const scores = rankers.flatMap(({ by }) => [by[this.metric].mean - (by[this.metric].error || 0), by[this.metric].mean + (by[this.metric].error || 0)]);
    const seconds = rankers.map((one) => Math.max(one.seconds, 1e-4));
    const lowest = Math.min(...seconds) / 1.6, highest = Math.max(...rankers.map((one) => one.seconds + (one.secondsError || 0)), 1e-4);
    const { svg, x, y, width } = axes(figure, {
      height: 380, makeX: (range) => logarithmic([lowest, highest * 1.6], range),
      makeY: (range) => linear(padDomain(scores, [0, 1]), range), labelX: "training time, seconds", labelY: this.metric.toUpperCase(),
      describe: `${this.metric.toUpperCase()} against training time in seconds`,
    });
    const occupied = rankers.map((one) => [x(Math.max(one.seconds, 1e-4)) - 5, y(one.by[this.metric].mean) + 4, 10]);
    // The best and tied rankers are labelled first, from right to left.
    const inLabelOrder = [...rankers].sort((one, other) => (one.by[this.metric].standing === "worse") - (other.by[this.metric].standing === "worse") || other.seconds - one.seconds);
    for (const one of inLabelOrder) {
      const { mean, error, standing } = one.by[this.metric];
      const px = x(Math.max(one.seconds, 1e-4)), py = y(mean);
      const group = svgElement("g", { class: standing, "data-ranker": one.name }, svgElement("title", {}, `${one.name}: ${mean.toFixed(4)} after ${one.seconds.toPrecision(3)} s`));
      if (error !== null) group.append(svgElement("line", { class: "bar", x1: px, x2: px, y1: y(mean - error), y2: y(mean + error), opacity: 0.45 }));
      if (one.secondsError) group.append(svgElement("line", { class: "bar", x1: x(Math.max(one.seconds - one.secondsError, lowest)), x2: x(one.seconds + one.secondsError), y1: py, y2: py, opacity: 0.45 }));
      group.append(svgElement("circle", { cx: px, cy: py, r: 5 }), label(one.name, px, py, width, occupied));
      svg.append(group);
    }
  }

  drawPair() {
    const text = this.root.querySelector('[data-text="difference"]');
    if (!text) return;
    const test = this.data.tests.find((one) => one.metric === this.metric && [one.first, one.second].sort().join("\n") === [this.a, this.b].sort().join("\n"));
    const differences = this.differences();
    const known = differences.map((one) => one.value);
    const mean = known.reduce((sum, value) => sum + value, 0) / (known.length || 1);
    const better = known.filter((value) => value > 0).length, worse = known.filter((value) => value < 0).length;
    text.textContent = this.a === this.b ? "Select two different rankers." :
      `A − B = ${formatSigned(mean)} ${this.metric.toUpperCase()} over ${known.length} queries` +
      (test ? ` (p ${formatP(test.p_corrected)}: ${test.p_corrected < 0.05 ? "significant" : "not significant"}${test.sigma === null ? "" : `; ${test.sigma.toFixed(1)} σ`})` : "") +
      `. ${this.a} is better on ${better} queries, ${this.b} on ${worse}; ${known.length - better - worse} are tied.`;
    this.drawFolds();
    this.drawQueries(differences);
  }

  differences() {
    const of = this.data.perQuery[this.metric];
    const one = of?.values[this.a], other = of?.values[this.b];
    if (!one || !other) return [];
    const differences = [];
    one.forEach((value, n) => {
      if (value !== null && other[n] !== null) differences.push({ value: value - other[n], query: of.queries[n], fold: of.folds[n] });
    });
    return differences.sort((first, second) => second.value - first.value);
  }

  drawFolds() {
    const of = (name) => this.data.rankers.find((one) => one.name === name).by[this.metric].folds;
    const one = of(this.a), other = of(this.b);
    const folds = Object.keys(one).filter((fold) => one[fold] !== null && other[fold] !== null && other[fold] !== undefined);
    const values = folds.map((fold) => one[fold] - other[fold]);
    const { svg, x, width } = axes(this.chart("folds"), {
      height: folds.length * 30 + 58, left: 64, right: 70, makeX: (range) => linear(padDomain([0, ...values], undefined, 0.15), range),
      labelX: `A − B, ${this.metric.toUpperCase()}`, describe: "Difference of the two rankers on each fold",
    });
    svg.append(svgElement("line", { class: "zero", x1: x(0), x2: x(0), y1: 6, y2: folds.length * 30 + 16 }));
    folds.forEach((fold, n) => {
      const y = 26 + n * 30, value = values[n];
      svg.append(svgElement("text", { class: "name", x: 2, y: y + 4 }, fold),
        svgElement("rect", { class: value >= 0 ? "a-fill" : "b-fill", x: Math.min(x(0), x(value)), y: y - 7, width: Math.max(1, Math.abs(x(value) - x(0))), height: 14, rx: 2, "data-difference": value }),
        svgElement("text", { x: width - 4, y: y + 4, "text-anchor": "end" }, formatSigned(value)));
    });
  }

  drawQueries(differences) {
    const n = differences.length;
    const values = differences.map((one) => one.value);
    const { svg, x, y } = axes(this.chart("queries"), {
      height: 250, integerTicks: true, makeX: (range) => linear([0, Math.max(n, 1)], range), makeY: (range) => linear(padDomain([0, ...values]), range),
      labelX: "queries, sorted by difference", labelY: `A − B`, describe: `Differences of ${n} queries, sorted`,
    });
    for (const [sign, style] of [[1, "a-fill"], [-1, "b-fill"]]) {
      let path = "";
      values.forEach((value, index) => {
        if (Math.sign(value) === sign) path += `M${x(index).toFixed(1)} ${y(0).toFixed(1)}V${y(value).toFixed(1)}H${x(index + 1).toFixed(1)}V${y(0).toFixed(1)}Z`;
      });
      svg.append(svgElement("path", { class: style, d: path, "data-sign": sign }));
    }
    svg.append(svgElement("line", { class: "zero", x1: x(0), x2: x(n), y1: y(0), y2: y(0) }));
    for (const [one, position, anchor] of n > 1 ? [[differences[0], 0, "start"], [differences[n - 1], n, "end"]] : []) {
      svg.append(svgElement("text", { x: x(position) + (anchor === "start" ? 6 : -6), y: y(one.value) + (anchor === "start" ? 10 : 0), "text-anchor": anchor }, `query ${one.query}: ${formatSigned(one.value, 2)}`));
    }
  }
}

function diamond(x, y, title) {
  return svgElement("path", { class: "published", d: `M${x} ${y - 6}L${x + 6} ${y}L${x} ${y + 6}L${x - 6} ${y}Z` }, svgElement("title", {}, title));
}

/* A name beside its point without overlaps, or null if there is no space; the tooltip has the name too. */
function label(name, px, py, width, occupied) {
  const size = name.length * 7.1 + 2;
  const offsets = [[9, 4], [-9 - size, 4], [9, -10], [9, 18], [-9 - size, -10], [-9 - size, 18], [-size / 2, -12], [-size / 2, 21]];
  const free = ([dx, dy]) => px + dx > 58 && px + dx + size < width + 4 &&
    !occupied.some(([tx, ty, other]) => px + dx < tx + other && tx < px + dx + size && Math.abs(py + dy - ty) < 12);
  const offset = offsets.find(free);
  if (!offset) return null;
  const [dx, dy] = offset;
  occupied.push([px + dx, py + dy, size]);
  // A name to the left of its point is right-aligned, independent of its width.
  const left = dx === -9 - size;
  return svgElement("text", { class: "name", x: left ? px - 9 : px + dx, y: py + dy, "text-anchor": left ? "end" : "start" }, name);
}

function makeSortable(table) {
  const headers = all("thead th", table);
  headers.forEach((header, column) => header.querySelector("button")?.addEventListener("click", () => {
    const numeric = header.classList.contains("number");
    const before = header.getAttribute("aria-sort");
    const descending = before === "none" ? numeric && !/^p |, /.test(header.textContent.trim()) : before === "ascending";
    headers.forEach((one) => one.setAttribute("aria-sort", "none"));
    header.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const value = (row) => row.children[column].dataset.value;
    const rows = all("tbody tr", table).sort((one, other) => {
      const [first, second] = [value(one), value(other)];
      if (first === "" || second === "") return (first === "") - (second === "");
      return (descending ? -1 : 1) * (numeric ? first - second : first.localeCompare(second));
    });
    table.tBodies[0].append(...rows);
  }));
}
