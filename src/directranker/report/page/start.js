/* Set up every section of the page. */
for (const root of all("[data-comparison]")) {
  const data = DATA.comparisons[Number(root.dataset.comparison)];
  const view = new ComparisonView(root, data);
  for (const section of all("[data-explorer]", root)) new Explorer(section, view);
  for (const section of all("[data-neighbours]", root)) prepareExampleNeighbours(section, view);
  for (const section of all("[data-curves]", root)) prepareCurves(section, data.histories);
}
for (const root of all("main > [data-neighbours]")) prepareNeighbours(root, DATA.neighbours[Number(root.dataset.neighbours)]);
for (const root of all("[data-study]")) prepareStudy(root, DATA.studies[Number(root.dataset.study)]);
for (const root of all("[data-trainings]")) prepareCurves(root, Object.fromEntries(DATA.trainings.map((one) => [one.name, { [one.name]: one.records }])));

let lastWidth = document.documentElement.clientWidth;
window.addEventListener("resize", () => {
  if (document.documentElement.clientWidth === lastWidth) return;
  lastWidth = document.documentElement.clientWidth;
  redraws.forEach((draw) => draw());
});
document.documentElement.dataset.ready = "true";
