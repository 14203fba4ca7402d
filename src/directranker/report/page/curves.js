/* Neighbours in a sorted list, learning curves, and the sensitivity studies. */
function drawNeighbours(figure, key, list) {
  const { classes, r, thresholds, scores, documents } = list;
  const { svg, x, y } = axes(figure, {
    height: 330, makeX: (range) => linear([0.5, Math.max(r.length, 1) + 0.5], range), makeY: (range) => linear([0, padDomain(r)[1]], range),
    integerTicks: true, labelX: "rank n in the sorted list", labelY: "r(dₙ, dₙ₊₁)", describe: `r between ${r.length} neighbours of query ${list.query}`,
  });
  const many = r.length > 120;
  const predicted = scores.map((score) => thresholds.filter((threshold) => threshold < score).length);
  r.forEach((step, n) => {
    if (predicted[n] !== predicted[n + 1]) svg.append(svgElement("line", { class: "boundary", x1: x(n + 1), x2: x(n + 1), y1: 10, y2: y(0) }, svgElement("title", {}, "boundary found from the scores alone")));
  });
  if (r.length) svg.append(svgElement("path", { d: "M" + r.map((step, n) => `${x(n + 1).toFixed(1)} ${y(step).toFixed(1)}`).join("L"), fill: "none", class: "grid", "stroke-width": 1.5 }));
  r.forEach((step, n) => {
    const changes = classes[n] !== classes[n + 1];
    svg.append(svgElement("circle", { cx: x(n + 1), cy: y(step), r: many ? 2.5 : 4.5, fill: gradeColour(classes[n], classes), "data-r": step, stroke: changes && !many ? "var(--ink)" : "none", "stroke-width": 1.5 },
      svgElement("title", {}, `${documents[n]} (class ${formatNumber(classes[n])}), then ${documents[n + 1]} (class ${formatNumber(classes[n + 1])}): r = ${step.toPrecision(4)}`)));
  });
  const mean = (steps) => (steps.length ? formatNumber(steps.reduce((sum, step) => sum + step, 0) / steps.length) : "–");
  const changing = r.filter((_, n) => classes[n] !== classes[n + 1]), same = r.filter((_, n) => classes[n] === classes[n + 1]);
  if (!r.length) return key.replaceChildren("A single document has no neighbours.");
  key.replaceChildren(...gradeKey(classes, "class"), `. ${many ? "" : "Ring: the true class changes. "}Dashed line: boundary found from the scores alone. ` +
    `Mean r: ${mean(changing)} where the class changes, ${mean(same)} elsewhere.`);
}

function prepareExampleNeighbours(root, view) {
  const examples = view.data.examples;
  const ranker = root.querySelector('[data-pick="ranker"]'), query = root.querySelector('[data-pick="query"]');
  const names = view.data.rankers.map((one) => one.name).filter((name) => examples.queries.some((one) => one.by[name]?.r));
  if (!names.length) return root.remove();
  setOptions(ranker, names.map((name) => [name, name]), view.a);
  const draw = () => {
    const known = examples.queries.map((one, n) => [n, one]).filter(([, one]) => one.by[ranker.value]?.r);
    setOptions(query, known.map(([n, one]) => [n, `${one.query} (${one.fold}, ${pluralise(one.documents.length, "document")})`]));
    const one = examples.queries[Number(query.value)], of = one.by[ranker.value];
    const order = of.scores.map((_, row) => row).sort((first, second) => of.scores[second] - of.scores[first] || first - second);
    drawNeighbours(root.querySelector("figure"), root.querySelector('[data-text="classes"]'), {
      ...of, query: one.query, classes: order.map((row) => one.grades[row]), scores: order.map((row) => of.scores[row]), documents: order.map((row) => one.documents[row]),
    });
  };
  for (const select of [ranker, query]) select.addEventListener("change", draw);
  drawOnResize(draw);
}

function prepareNeighbours(root, data) {
  const query = root.querySelector('[data-pick="query"]');
  setOptions(query, data.lists.map((one, n) => [n, `${one.query} (${pluralise(one.documents.length, "document")})`]));
  const draw = () => drawNeighbours(root.querySelector("figure"), root.querySelector('[data-text="classes"]'), data.lists[Number(query.value)]);
  query.addEventListener("change", draw);
  drawOnResize(draw);
}

/* Lines of one chart: [{name, colour, points: [[x, y, error]]}]. */
function drawLines(figure, lines, { labelX, labelY, log = false, integerTicks = false, claims = [], bounds }) {
  const xs = lines.flatMap((line) => line.points.map((point) => point[0]));
  const ys = [...lines.flatMap((line) => line.points.flatMap(([, value, error]) => [value - (error || 0), value + (error || 0)])), ...claims.map((claim) => claim.y).filter((value) => value !== undefined)];
  const { svg, x, y, width } = axes(figure, {
    height: 260, integerTicks, makeX: (range) => (log ? logarithmic([Math.min(...xs) / 1.15, Math.max(...xs) * 1.15], range) : linear(padDomain(xs, undefined, 0.03), range)),
    makeY: (range) => linear(padDomain(ys, bounds), range), labelX, labelY, describe: `${labelY} against ${labelX}: ${lines.map((line) => line.name).join(", ")}`,
  });
  const visible = claims.filter((one) => one.x === undefined || (one.x >= Math.min(...xs) && one.x <= Math.max(...xs)));
  const horizontal = visible.find((one) => one.y !== undefined);
  // Vertical text is centred, or above the horizontal claim's text, or below its line if there is no space above.
  const above = horizontal ? Math.min(110, y(horizontal.y) - 56) : 110, vertical = above >= 46 ? above : 180;
  const texts = svgElement("g"); // in front of the lines, which may cross them
  for (const claim of visible) {
    if (claim.y !== undefined) {
      svg.append(svgElement("line", { class: "claim", x1: 58, x2: width - 14, y1: y(claim.y), y2: y(claim.y) }));
      texts.append(svgElement("text", { class: "on-lines", x: Math.min(x(claim.at), width - 14) - 5, y: y(claim.y) - 5, "text-anchor": "end" }, claim.text));
    }
    if (claim.x !== undefined) svg.append(svgElement("line", { class: "claim", x1: x(claim.x), x2: x(claim.x), y1: 10, y2: 218 }));
    if (claim.beside) texts.append(svgElement("text", { class: "on-lines", transform: `translate(${x(claim.x) - 5} ${vertical}) rotate(-90)`, "text-anchor": "middle" }, claim.beside));
  }
  for (const line of lines) {
    const group = svgElement("g", { stroke: line.colour, fill: line.colour, "data-line": line.name }, svgElement("title", {}, line.name));
    group.append(svgElement("path", { fill: "none", "stroke-width": 2, d: "M" + line.points.map(([px, py]) => `${x(px).toFixed(1)} ${y(py).toFixed(1)}`).join("L") }));
    for (const [px, py, error] of line.points.length <= 30 ? line.points : []) {
      if (error) group.append(svgElement("line", { x1: x(px), x2: x(px), y1: y(py - error), y2: y(py + error), "stroke-width": 1.5 }));
      group.append(svgElement("circle", { cx: x(px), cy: y(py), r: 3, "data-value": py }));
    }
    svg.append(group);
  }
  svg.append(texts);
}

function lineKey(lines) {
  return element("p", { class: "key" }, ...lines.flatMap((line) => [element("span", { class: "nowrap" }, element("span", { class: "swatch", style: `background:${line.colour}` }), line.name), " "]));
}

/* Draw the panels of some trainings, {name: records}: the objective, and the metric on the validation split. */
function drawCurves(panels, trainings) {
  const first = Object.values(trainings)[0][0];
  const step = "epoch" in first ? "epoch" : "round";
  const objective = step === "epoch" ? "cost" : "fitness"; // fitness need not be a metric: for RankSVM it is its negative objective
  const fields = [[objective, `${objective} on the training split`], ["metric", "metric on the validation split"]];
  const draws = [];
  panels.replaceChildren();
  for (const [field, text] of fields) {
    const lines = Object.entries(trainings).map(([name, records], n) => ({
      name, colour: DATA.colours[n % DATA.colours.length], points: records.filter((one) => one[field] !== null && one[field] !== undefined).map((one) => [one[step], one[field]]),
    })).filter((line) => line.points.length);
    if (!lines.length) continue;
    const figure = element("figure", { class: "chart", "data-chart": field });
    panels.append(element("div", {}, element("h3", {}, text), figure, lineKey(lines)));
    draws.push(() => drawLines(figure, lines, { labelX: step, labelY: field, integerTicks: true }));
  }
  draws.forEach((draw) => draw()); // panels have their width only now
}

function prepareCurves(root, named) {
  const select = root.querySelector('[data-pick="ranker"]');
  setOptions(select, Object.keys(named).map((name) => [name, name]));
  const draw = () => drawCurves(root.querySelector("[data-panels]"), named[select.value]);
  select.addEventListener("change", draw);
  drawOnResize(draw);
}

const STUDY_LABELS = { classes: "number of relevance classes", features: "number of features", noise: "label noise σ, in classes", size: "documents in the training set" };

function prepareStudy(root, study) {
  const rankers = [...new Set(study.points.map((point) => point.ranker))];
  drawOnResize(() => {
    const panels = root.querySelector("[data-panels]");
    const draws = [];
    panels.replaceChildren();
    for (const name of new Set(study.points.map((point) => point.study))) {
      const lines = rankers.map((ranker, n) => ({
        name: ranker, colour: DATA.colours[n % DATA.colours.length],
        points: study.points.filter((point) => point.study === name && point.ranker === ranker).sort((one, other) => one.value - other.value).map((point) => [point.value, point.mean, point.error]),
      })).filter((line) => line.points.length);
      const figure = element("figure", { class: "chart", "data-study-chart": name });
      panels.append(element("div", {}, element("h3", {}, STUDY_LABELS[name] || name), figure, rankers.length > 1 ? lineKey(lines) : null));
      const claims = name === "noise" ? [{ y: 0.8, at: 0.75, text: "paper: above 0.80 at σ = 0.75" }, { x: 0.25, beside: "barely falls" }, { x: 0.75 }] : [];
      draws.push(() => drawLines(figure, lines, { labelX: STUDY_LABELS[name] || name, labelY: "NDCG@20", log: name === "size", integerTicks: name !== "noise", claims, bounds: [0, 1] }));
    }
    draws.forEach((draw) => draw());
  });
}
