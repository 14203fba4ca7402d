"use strict";
/* Helpers of all charts. Text is always inserted as text, never as HTML. */
const DATA = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes = {}, ...children) {
  return fillNode(document.createElement(name), attributes, children);
}

function svgElement(name, attributes = {}, ...children) {
  return fillNode(document.createElementNS(SVG, name), attributes, children);
}

function fillNode(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const finite = (values) => values.filter((value) => value !== null && Number.isFinite(value));
const formatSigned = (value, digits = 4) => (value >= 0 ? "+" : "−") + Math.abs(value).toFixed(digits);
const formatP = (p) => (p < 0.001 ? "< 0.001" : "= " + p.toFixed(3));
const pluralise = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
const formatNumber = (value) => String(Number(value.toPrecision(4))).replace("-", "−");

function linear(domain, range) {
  const [low, high] = domain;
  const width = high - low || 1;
  const scale = (value) => range[0] + ((value - low) / width) * (range[1] - range[0]);
  scale.ticks = (n) => {
    const raw = width / n;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((one) => power * one >= raw * 0.999);
    const ticks = [];
    for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step) ticks.push(Number(tick.toPrecision(12)));
    return ticks;
  };
  return scale;
}

function logarithmic(domain, range) {
  const inner = linear(domain.map(Math.log10), range);
  const scale = (value) => inner(Math.log10(value));
  scale.ticks = () => {
    const ticks = [];
    for (let power = Math.floor(Math.log10(domain[0])); power <= Math.ceil(Math.log10(domain[1])); power++) {
      for (const digit of [1, 2, 5]) ticks.push(Number((digit * 10 ** power).toPrecision(6)));
    }
    const inside = ticks.filter((tick) => tick >= domain[0] && tick <= domain[1]);
    return inside.length > 7 ? inside.filter((tick) => /^(0\.0*)?10*$/.test(String(tick))) : inside;
  };
  return scale;
}

/* The range of values with some padding; never wider than `bounds`. */
function padDomain(values, bounds = [-Infinity, Infinity], fraction = 0.06) {
  const known = finite(values);
  if (!known.length) return [0, 1];
  const low = Math.min(...known), high = Math.max(...known);
  const padding = (high - low || Math.abs(high) || 1) * fraction;
  return [Math.max(bounds[0], low - padding), Math.min(bounds[1], high + padding)];
}

/* Draw an empty chart with axes; return {svg, x, y, width}. `makeX` and `makeY` map a pixel range to a scale. */
function axes(figure, { height, left = 58, right = 14, top = 10, bottom = 42, makeX, makeY, labelX, labelY, describe, integerTicks = false }) {
  const width = Math.max(260, figure.clientWidth || 640);
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": describe });
  const x = makeX([left, width - right]);
  const y = makeY ? makeY([height - bottom, top]) : null;
  const ticks = x.ticks(Math.max(3, Math.floor(width / 110)));
  for (const tick of integerTicks ? ticks.filter(Number.isInteger) : ticks) {
    svg.append(svgElement("line", { class: "grid", x1: x(tick), x2: x(tick), y1: top, y2: height - bottom }),
      svgElement("text", { x: x(tick), y: height - bottom + 17, "text-anchor": "middle" }, formatNumber(tick)));
  }
  if (y) {
    for (const tick of y.ticks(5)) {
      svg.append(svgElement("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
        svgElement("text", { x: left - 7, y: y(tick) + 4, "text-anchor": "end" }, formatNumber(tick)));
    }
  }
  if (labelX) svg.append(svgElement("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, labelX));
  if (labelY) svg.append(svgElement("text", { transform: `translate(12 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, labelY));
  figure.replaceChildren(svg);
  return { svg, x, y, width };
}

/* Set the options of a select from [value, text] pairs; keep the selected value if it is still an option. */
function setOptions(select, options, selected) {
  const before = selected !== undefined ? String(selected) : select.value;
  select.replaceChildren(...options.map(([value, text]) => element("option", { value }, text)));
  select.value = options.some(([value]) => String(value) === before) ? before : String(options[0]?.[0] ?? "");
}

/* Charts are drawn in pixels, so they are redrawn when the page's width changes. */
const redraws = [];
function drawOnResize(draw) {
  redraws.push(draw);
  draw();
}
