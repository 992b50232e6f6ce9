"use strict";
// A waterfall of all connections of the table, flows and lookups: a line each, in the colour of what limited it, in the
// order in which they began; a click on a connection chooses it.
page.overview = (() => {
  const { data, element, shade } = page;
  const { marksOf, prepare, frame, columns, axisBelow, PAPER_WIDTH } = page.canvas;
  const { si } = page.marks;
  const [RIGHT, BELOW] = [8, 36];
  const [LINE, TALLEST] = [13, 234]; // pixels: of a line with its label, and of all lines together
  const THICK = { connection: 0.8, flow: 0.3, lookup: 0.8 };
  const HEAD = ["kind", "label", "start_s", "duration_s", "limited_by"];
  let onPick = () => {};

  function start() {
    const { kind: kinds, label: labels, start_s: starts, duration_s: durations, cause: causes, colours, names } = data.timeline;
    const canvas = element("timeline").querySelector("canvas");
    // From top to bottom as they began: what began together stands together.
    const order = starts.map((_, line) => line).sort((a, b) => starts[a] - starts[b]);
    const end = Math.max(...starts.map((from, line) => from + durations[line]), 1e-6);
    const height = Math.max(36, Math.min(order.length * LINE, TALLEST));
    const step = Math.min(height / order.length, LINE);
    const labelled = Math.ceil(LINE / step); // every so many lines there is room for a label
    let box = null;
    const x = (time) => box.left + (time / end) * (box.right - box.left);

    function drawLine(pen, line, top) {
      const kind = kinds[line], thick = Math.max(Math.min(step, LINE) * THICK[kind], 1);
      const [left, right, width] = [x(starts[line]), x(starts[line] + durations[line]), kind === "lookup" ? 2 : 1.5];
      pen.fillStyle = pen.strokeStyle = shade(colours[causes[line]]);
      const at = [left, top + (step - thick) / 2, Math.max(right - left, width), thick];
      if (kind === "lookup" && thick > 4) pen.strokeRect(at[0] + 0.5, at[1] + 0.5, at[2], at[3] - 1);
      else pen.fillRect(...at);
    }

    function draw() {
      const width = page.isPrinting() ? PAPER_WIDTH : element("timeline").clientWidth;
      const pen = prepare(canvas, width, height + BELOW);
      box = { left: Math.min(220, Math.round(width * 0.4)), right: width - RIGHT, top: 0, bottom: height };
      const marks = marksOf({ low: 0, high: end, unit: "s" }, box.right - box.left, 90);
      columns(pen, box, marks, x);
      order.forEach((line, place) => drawLine(pen, line, place * step));
      frame(pen, box);
      [pen.fillStyle, pen.textAlign, pen.textBaseline] = [page.colour("--ink"), "right", "middle"];
      order.forEach((line, place) => {
        if (place % labelled === 0) pen.fillText(labels[line], box.left - 6, Math.max(6, Math.min((place + 0.5) * step, height - 5)), box.left - 8);
      });
      axisBelow(pen, box, width, marks, x, "time since the first line's start");
    }

    const lineAt = (event) => {
      const bounds = canvas.getBoundingClientRect();
      const place = Math.floor((event.clientY - bounds.top) / step);
      return order[Math.max(0, Math.min(place, order.length - 1))];
    };
    const isConnection = (line) => kinds[line] === "connection";
    canvas.addEventListener("pointermove", (event) => {
      const line = lineAt(event);
      canvas.style.cursor = isConnection(line) ? "pointer" : "";
      const named = isConnection(line) ? `${data.rows[line].id}: ${data.rows[line].ends}` : labels[line];
      element("timeline-reading").textContent = `${named}, ${names[causes[line]]}, ${si(starts[line], "s")} + ${si(durations[line], "s")}`;
    });
    canvas.addEventListener("pointerleave", () => { element("timeline-reading").textContent = ""; });
    canvas.addEventListener("click", (event) => { if (isConnection(lineAt(event))) onPick(data.rows[lineAt(event)]); });
    const others = [["flow", "thin: flows of datagrams"], ["lookup", "hollow: lookups"]].filter(([kind]) => kinds.includes(kind));
    element("timeline-note").textContent = others.map(([, text]) => text).join("; ");
    const rows = () => order.map((line) => [kinds[line], labels[line], starts[line], durations[line], isConnection(line) ? names[causes[line]] : null]);
    element("timeline").querySelector(".panel-head").append(" ", page.save.buttons("connections", element("timeline"), HEAD, rows));
    element("timeline").hidden = false;
    draw();
    new ResizeObserver(() => { if (!page.isPrinting()) draw(); }).observe(element("timeline"));
    page.onTheme(draw);
  }

  if (data.timeline && element("timeline")) start();
  return { onPick: (act) => { onPick = act; } };
})();
