"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);

  // The chart of costs: a row of parts under each part, as wide as what it costs.
  const tree = data.tree;
  const children = tree.parent.map(() => []);
  tree.parent.forEach((parent, index) => { if (parent >= 0) children[parent].push(index); });
  const icicle = byId("icicle");
  const unit = byId("unit");
  const ROW = 28, ROWS = 7;
  // Eight colours that stay apart for colour-blind readers.
  const COLOURS = ["#88ccee", "#ddcc77", "#cc99bb", "#77bb99", "#ee9988", "#aabbdd", "#bbcc66", "#d9c2a5"];
  let shown = 0;

  const name = (index) => tree.names[tree.name[index]];
  const size = (index) => tree[unit.value][index];
  const dollars = (amount) => "$" + (amount / 1e12).toLocaleString("en", { maximumFractionDigits: amount < 1e12 ? 6 : 2, minimumFractionDigits: 2 });
  const colour = (index) => {
    let hash = 0;
    for (const letter of name(index).replace(/\d+/g, "")) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
    return COLOURS[hash % COLOURS.length];
  };
  const path = (index) => (index <= 0 ? [0] : [...path(tree.parent[index]), index]);
  const sentence = (index) => {
    const share = size(0) ? (100 * size(index) / size(0)).toFixed(1) + "%" : "";
    const where = path(index).slice(1).map(name).join(" > ") || "everything";
    return `${where}: ${dollars(tree.usd[index])}, ${tree.tokens[index].toLocaleString("en")} tokens, ${share}`;
  };

  function place(index, left, width, row, query) {
    const part = document.createElement("button");
    part.type = "button";
    part.setAttribute("role", "treeitem");
    part.setAttribute("aria-label", sentence(index));
    part.style.cssText = `left:${left}px;top:${row * ROW}px;width:${width}px;background:${colour(index)}`;
    part.textContent = width > 28 ? name(index) : "";
    part.title = sentence(index);
    if (query) part.className = path(index).some((one) => name(one).toLowerCase().includes(query)) ? "found" : "dim";
    part.onclick = () => look(index === shown && index > 0 ? tree.parent[index] : index);
    part.onmouseenter = part.onfocus = () => { byId("said").textContent = sentence(index); };
    icicle.append(part);
    if (row + 1 >= ROWS) return;
    let at = left;
    for (const child of children[index]) {
      const wide = size(index) ? width * size(child) / size(index) : 0;
      if (wide >= 1) place(child, at, wide, row + 1, query);
      at += wide;
    }
  }

  function draw() {
    icicle.replaceChildren();
    icicle.style.height = ROW * ROWS + "px";
    place(shown, 0, icicle.clientWidth, 0, byId("search").value.trim().toLowerCase());
    byId("crumbs").replaceChildren(...path(shown).flatMap((index) => {
      const crumb = document.createElement("button");
      crumb.type = "button";
      crumb.textContent = name(index);
      crumb.onclick = () => look(index);
      return index ? [" > ", crumb] : [crumb];
    }));
  }

  function look(index) {
    shown = index;
    history.replaceState(null, "", index ? "#part=" + index : location.pathname + location.search);
    draw();
    byId("said").textContent = sentence(index);
  }

  // The timeline: a bar for each request.
  const line = data.timeline;
  const canvas = byId("timeline");
  const PARTS = ["read", "written", "uncached", "output"];
  const count = line.read.length;
  const whole = (index) => PARTS.reduce((sum, part) => sum + line[part][index], 0);
  const tallest = line.read.reduce((most, _, index) => Math.max(most, whole(index)), 1);
  const theme = (word) => getComputedStyle(document.documentElement).getPropertyValue("--" + word).trim();
  let pointed = -1;

  function plot() {
    const scale = devicePixelRatio || 1, wide = canvas.clientWidth, high = 220, top = 18;
    canvas.width = wide * scale;
    canvas.height = high * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const paint = Object.fromEntries([...PARTS, "missed", "faint", "ink"].map((word) => [word, theme(word)]));
    const step = Math.min(wide / Math.max(count, 1), 24);
    const bar = Math.max(step - (step > 4 ? 1 : 0), 0.5);
    for (let index = 0; index < count; index++) {
      let base = high;
      for (const part of PARTS) {
        const tall = (high - top) * line[part][index] / tallest;
        pen.fillStyle = paint[part];
        pen.fillRect(index * step, base - tall, bar, tall);
        base -= tall;
      }
      if (line.missed[index]) {
        pen.fillStyle = paint.missed;
        pen.beginPath();
        pen.arc(index * step + bar / 2, Math.max(base - 6, 5), Math.max(Math.min(bar / 2, 4), 2), 0, 7);
        pen.fill();
      }
      if (line.retry[index] || line.names[line.purpose[index]] !== "main") {
        pen.strokeStyle = paint.faint;
        pen.lineWidth = 1.5;
        pen.setLineDash(line.retry[index] ? [3, 2] : []);
        pen.strokeRect(index * step + 0.75, base, Math.max(bar - 1.5, 0.5), high - base);
        pen.setLineDash([]);
      }
      if (index === pointed) {
        pen.strokeStyle = paint.ink;
        pen.strokeRect(index * step, 0.5, bar, high - 1);
      }
    }
    pen.fillStyle = paint.faint;
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.fillText(tallest.toLocaleString("en") + " tokens", wide - 4, 12);
  }

  function point(index) {
    pointed = Math.max(0, Math.min(count - 1, index));
    if (!count) return;
    plot();
    const tell = (part) => line[part][pointed].toLocaleString("en");
    const marks = [line.names[line.purpose[pointed]], line.retry[pointed] ? "retry " + line.retry[pointed] : ""].filter(Boolean);
    byId("request").textContent = `${line.names[line.task[pointed]]}, turn ${line.turn[pointed] || "?"} (${marks.join(", ")}): `
      + `${tell("read")} read, ${tell("written")} written, ${tell("uncached")} in full, ${tell("output")} answered`
      + (line.missed[pointed] ? `; ${tell("missed")} missed the cache` : "");
  }

  canvas.onmousemove = (event) => point(Math.floor(event.offsetX / Math.min(canvas.clientWidth / Math.max(count, 1), 24)));
  canvas.onkeydown = (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by) { event.preventDefault(); point(pointed + by); }
  };

  // Tables sort by a click on the head of a column.
  for (const table of document.querySelectorAll("#tables table")) {
    const amount = (text) => parseFloat(text.replace(/[$,%<]/g, ""));
    table.querySelectorAll("th").forEach((head, column) => {
      head.querySelector("button").onclick = () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const cell = (row) => row.children[column].textContent;
        const rows = [...table.tBodies[0].rows].sort((a, b) => {
          const left = amount(cell(a)), right = amount(cell(b));
          const order = column && !(isNaN(left) && isNaN(right))
            ? (isNaN(left) ? -1 : left) - (isNaN(right) ? -1 : right)
            : cell(a).localeCompare(cell(b));
          return down ? -order : order;
        });
        table.tBodies[0].append(...rows);
      };
    });
  }

  if (!tree.usd[0]) unit.value = "tokens";
  const asked = /^#part=(\d+)$/.exec(location.hash);
  if (asked && +asked[1] < tree.parent.length) shown = +asked[1];
  unit.onchange = draw;
  byId("search").oninput = draw;
  addEventListener("resize", () => { draw(); plot(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", plot);
  draw();
  plot();
  document.documentElement.dataset.ready = "yes";
})();
