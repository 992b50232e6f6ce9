"use strict";
// Figures of a report: panels of points and lines on canvas, zoomed by dragging, read by pointing.
// Panels over one time move together. Everything shown is put in as text, never as markup.
page.charts = (() => {
  const { data, element, make, shade, colour, isPrinting } = page;
  const { si, points, steps, line, bars, ranges: drawRanges } = page.marks;
  const { PAPER_WIDTH, prepare, clipped, frame, marksOf, rows, columns, axisBelow } = page.canvas;
  const NEAR = 14; // pixels within which a point is read
  const NAME_ROW = 24; // height of each name of a vertical axis
  const HEAD = ["panel", "series", "point", "x", "x_unit", "y", "y_unit"];
  const BELOW = 36; // room under a panel for the texts of its axis
  const [SOME, MANY] = [150, 1200]; // points of a panel from which on they are drawn smaller, and as dots

  // Shape ----------------------------------------------------------------------------------------------------------
  const columnsOf = (chart, width) => Math.max(1, Math.min(chart.columns, chart.panels.length, Math.floor(width / (chart.columns > 2 ? 170 : 300))));
  const isLast = (chart, index, across) => !chart.shared_x || index + across >= chart.panels.length;
  function heightOf(chart, across, wanted) {
    const names = Math.max(...chart.panels.map((panel) => panel.y.names?.length ?? 0));
    if (names) return Math.max(names * NAME_ROW, 100);
    if (wanted) return wanted;
    if (chart.columns > 2) return 150;
    return across > 1 || !chart.shared_x ? 230 : 130;
  }

  const isRange = (series) => series.style === "ranges" || series.style === "spans";
  const known = (value, axis) => value !== null && (!axis.log || value > 0);

  function extent(values, axis, zero) {
    if (axis.names) return { low: -0.5, high: axis.names.length - 0.5 };
    let [low, high] = [Infinity, -Infinity];
    for (const value of values) {
      if (!known(value, axis)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    if (high === -Infinity) return axis.log ? { low: 1, high: 10 } : { low: 0, high: 1 };
    if (axis.log) {
      const room = Math.max(1.08, (high / low) ** 0.04);
      return { low: low / room, high: high * room };
    }
    if (zero && low > 0) low = 0;
    if (high < 0) high = 0;
    const room = (high - low || Math.abs(high) || 1) * 0.05;
    return { low: low < 0 || !zero ? low - room : low, high: high + room };
  }

  const all = (panels, hidden, key) => panels.flatMap((panel) => panel.series.filter((one) => !hidden.has(one.name)).map((one) => one[key])).flat();

  // What all panels together span. Of time from 0 on; of what is compared (points without a shared axis) as it is.
  function spans(chart, hidden) {
    const shown = (panels, key, axis, zero) => extent(all(panels, hidden, key), axis, zero);
    const together = shown(chart.panels, "x", chart.x, true);
    return chart.panels.map((panel) => ({
      x: chart.shared_x ? together : shown([panel], "x", chart.x, true),
      y: shown([panel], "y", panel.y, true),
    }));
  }

  // Drawing --------------------------------------------------------------------------------------------------------
  function scaleOf(range, axis, from, to) {
    const flat = (value) => (axis.log ? Math.log10(Math.max(value, 1e-300)) : value);
    const [low, high] = [flat(range.low), flat(range.high)];
    const per = (to - from) / (high - low || 1);
    const keep = (value) => Math.max(-8000, Math.min(8000, value)); // lines to far outside lose their exactness
    const back = (pixel) => low + (pixel - from) / per;
    return { of: (value) => keep(from + (flat(value) - low) * per), back: (pixel) => (axis.log ? 10 ** back(pixel) : back(pixel)) };
  }

  // Of a panel over time the values in view set the height; one that was zoomed both ways keeps what was chosen.
  function rangesOf(figure, index) {
    const { chart, view, hidden } = figure;
    const base = figure.spans[index];
    const chosen = view.get(chart.shared_x ? 0 : index);
    if (!chosen) return base;
    if (chosen.y) return chosen;
    const panel = chart.panels[index];
    const seen = panel.series.filter((one) => !hidden.has(one.name)).flatMap((one) => one.y.filter((_, at) => one.x[at] >= chosen.x.low && one.x[at] <= chosen.x.high));
    return { x: chosen.x, y: seen.length ? extent(seen, panel.y, true) : base.y };
  }

  function drawPanel(figure, place, width) {
    const { chart, hidden } = figure;
    const { index, canvas } = place;
    const panel = chart.panels[index];
    const last = isLast(chart, index, figure.across);
    const inner = figure.height;
    const height = inner + (last ? BELOW : 0);
    const pen = prepare(canvas, width, height);
    const ranges = rangesOf(figure, index);
    const yMarks = marksOf({ ...ranges.y, ...panel.y }, inner, 26);
    const box = { left: Math.min(figure.left ?? leftOf(pen, yMarks.texts), width / 2), right: width - 12, top: 0, bottom: inner };
    const x = scaleOf(ranges.x, chart.x, box.left + 4, box.right - 4);
    const y = scaleOf(ranges.y, panel.y, box.bottom - 5, box.top + 6);
    const xMarks = marksOf({ ...ranges.x, ...chart.x }, box.right - box.left, width < 500 ? 62 : 82);
    if (panel.series.length) { rows(pen, box, yMarks, y.of); columns(pen, box, xMarks, x.of); }
    frame(pen, box);
    const shown = panel.series.filter((one) => !hidden.has(one.name));
    const scale = { x: x.of, y: y.of };
    const number = shown.reduce((sum, one) => sum + (one.style === "points" ? one.x.length : 0), 0);
    const size = number > SOME ? 2.5 : 4;
    clipped(pen, { ...box, top: box.top - 1 }, () => {
      for (const one of shown) {
        const look = { ...one, colour: shade(one.colour), dashed: one.reference, outline: colour("--ink") };
        if (one.style === "points") points(pen, one.x, one.y, 0, one.x.length, scale, { ...look, symbol: symbolOf(one, number > MANY), size }, number > SOME ? 3 : 4);
        else if (one.style === "bars") bars(pen, one.x, one.y, scale, look);
        else if (isRange(one)) drawRanges(pen, one.x, one.y, scale, { ...look, wide: one.style === "spans" });
        else if (one.style === "steps") steps(pen, one.x, one.y, 0, one.x.length, scale, look, x.of(one.x[one.x.length - 1]));
        else line(pen, one.x, one.y, scale, look);
      }
    });
    if (!panel.series.length) {
      pen.fillStyle = colour("--faint");
      pen.textAlign = "center";
      panel.note.forEach((text, row) => pen.fillText(text, (box.left + box.right) / 2, inner / 2 + 14 * row, box.right - box.left));
    }
    if (last) axisBelow(pen, box, width, xMarks, x.of, chart.x.prefixed || !chart.x.unit ? chart.x.label : `${chart.x.label} [${chart.x.unit}]`);
    Object.assign(place, { box, x, y, shown, ranges });
    canvas.dataset.from = ranges.x.low;
    canvas.dataset.to = ranges.x.high;
  }

  const leftOf = (pen, texts) => Math.max(...texts.map((text) => pen.measureText(text).width), 20) + 10;

  // Panels one under the other begin at the same place: where the widest text of any leaves room.
  function commonLeft(figure) {
    if (figure.across > 1) return null;
    const pen = figure.places[0].canvas.getContext("2d");
    pen.font = "11px system-ui, sans-serif";
    const widths = figure.places.map(({ index }) => leftOf(pen, marksOf({ ...rangesOf(figure, index).y, ...figure.chart.panels[index].y }, figure.height, 26).texts));
    return Math.max(...widths, 0);
  }

  const symbolOf = (series, asDots) => (series.symbol === "circle" ? (asDots ? "dot" : "disc") : series.symbol);

  function draw(figure) {
    const paper = figure.node.closest(".beside") ? Math.floor(PAPER_WIDTH / 3) - 10 : PAPER_WIDTH;
    const width = isPrinting() ? paper : figure.node.clientWidth;
    if (width === 0) return; // behind a fold: drawn when that is opened
    const { chart } = figure;
    figure.across = columnsOf(chart, width);
    figure.height = heightOf(chart, figure.across, Number(figure.node.dataset.height) || 0);
    figure.left = commonLeft(figure);
    figure.grid.style.gridTemplateColumns = `repeat(${figure.across}, minmax(0, 1fr))`;
    const each = Math.floor((width - 16 * (figure.across - 1)) / figure.across);
    for (const place of figure.places) drawPanel(figure, place, each);
    for (const [name, swatch] of figure.swatches) swatch.style.setProperty("--swatch", shade(name));
    figure.node.dataset.drawn = "true";
  }

  // Reading --------------------------------------------------------------------------------------------------------
  const valueText = (value, axis) => axis.names?.[Math.round(value)] ?? (axis.whole && !axis.unit ? Math.round(value).toLocaleString("en") : null) ?? si(value, axis.prefixed ? axis.unit : "") + (axis.prefixed || !axis.unit ? "" : ` ${axis.unit}`);

  function nearest(place, at) {
    let best = null;
    let least = NEAR * NEAR;
    for (const series of place.shown) {
      if (series.reference || isRange(series)) continue;
      series.x.forEach((value, index) => {
        if (series.y[index] === null) return;
        const dx = place.x.of(value) - at.x;
        if (Math.abs(dx) > NEAR) return;
        const dy = place.y.of(series.y[index]) - at.y;
        if (dx * dx + dy * dy < least) [least, best] = [dx * dx + dy * dy, { series, index }];
      });
    }
    return best;
  }

  function read(figure, place, at) {
    const found = at && nearest(place, at);
    const { chart } = figure;
    figure.found = found;
    place.canvas.style.cursor = found && found.series.links ? "pointer" : "";
    for (const one of figure.places) {
      one.cross.hidden = !at || (!chart.shared_x && one !== place);
      if (at) one.cross.style.transform = `translateX(${at.x}px)`;
    }
    if (!at) { figure.output.textContent = ""; return; }
    const y = chart.panels[place.index].y;
    if (!found) { figure.output.textContent = valueText(Number(place.x.back(at.x).toPrecision(4)), chart.x); return; }
    const { series, index } = found;
    const label = series.labels ? `${series.labels[index]}: ` : "";
    figure.output.textContent = `${label}${series.name}, ${valueText(series.y[index], y)} at ${valueText(series.x[index], chart.x)}`;
  }

  // Zooming --------------------------------------------------------------------------------------------------------
  const keyOf = (figure, place) => (figure.chart.shared_x ? 0 : place.index);

  function zoom(figure, place, x, y) {
    figure.view.set(keyOf(figure, place), { x, y });
    draw(figure);
  }
  function whole(figure) {
    figure.view.clear();
    draw(figure);
  }
  // By a factor around a place; both ways where panels are not over one time.
  function zoomBy(figure, place, factor, at) {
    const around = (scale, from, to, middle) => {
      const [low, high] = [scale.back(middle - (middle - from) * factor), scale.back(middle + (to - middle) * factor)];
      return { low: Math.min(low, high), high: Math.max(low, high) };
    };
    const { box } = place;
    const middle = at ?? { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 };
    zoom(figure, place, around(place.x, box.left, box.right, middle.x),
      figure.chart.shared_x ? undefined : around(place.y, box.bottom, box.top, middle.y));
  }

  function listen(figure, place) {
    const { holder, selection, canvas } = place;
    const placeOf = (event) => {
      const bounds = canvas.getBoundingClientRect();
      return { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
    };
    let start = null;
    holder.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch") return;
      start = placeOf(event);
      holder.setPointerCapture(event.pointerId);
    });
    holder.addEventListener("pointermove", (event) => {
      const at = placeOf(event);
      read(figure, place, at);
      if (start === null) return;
      const flat = figure.chart.shared_x;
      selection.hidden = Math.abs(at.x - start.x) < 4;
      selection.style.left = `${Math.min(start.x, at.x)}px`;
      selection.style.width = `${Math.abs(at.x - start.x)}px`;
      selection.style.top = flat ? "0" : `${Math.min(start.y, at.y)}px`;
      selection.style.height = flat ? "100%" : `${Math.abs(at.y - start.y)}px`;
    });
    holder.addEventListener("pointerup", (event) => {
      const [began, at] = [start, placeOf(event)];
      [start, selection.hidden] = [null, true];
      if (began === null) return;
      if (Math.abs(at.x - began.x) < 4) { follow(figure); return; }
      const span = (scale, a, b) => ({ low: Math.min(scale.back(a), scale.back(b)), high: Math.max(scale.back(a), scale.back(b)) });
      zoom(figure, place, span(place.x, began.x, at.x), figure.chart.shared_x ? undefined : span(place.y, began.y, at.y));
    });
    holder.addEventListener("pointercancel", () => { [start, selection.hidden] = [null, true]; });
    holder.addEventListener("pointerleave", () => { if (start === null) read(figure, place, null); });
    holder.addEventListener("dblclick", () => whole(figure));
    holder.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // a page that is scrolled must not zoom
      event.preventDefault();
      zoomBy(figure, place, event.deltaY > 0 ? 1.25 : 0.8, placeOf(event));
    }, { passive: false });
    holder.addEventListener("keydown", (event) => {
      const act = { "+": () => zoomBy(figure, place, 0.5), "=": () => zoomBy(figure, place, 0.5), "-": () => zoomBy(figure, place, 2), 0: () => whole(figure), Home: () => whole(figure) }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
  }

  // A point leads to its row.
  function follow(figure) {
    const { found } = figure;
    if (found && found.series.links) page.tables.show(found.series.links[found.index]);
  }

  // Building -------------------------------------------------------------------------------------------------------
  function panelNode(chart, index) {
    const panel = chart.panels[index];
    const node = make("div", undefined, "panel");
    const heading = make("div", undefined, "panel-head");
    const unit = panel.y.unit && !panel.y.prefixed ? ` [${panel.y.unit}]` : "";
    const title = panel.title || panel.y.label;
    const named = title.toLowerCase().includes(panel.y.label.toLowerCase()) ? "" : `: ${panel.y.label}`;
    heading.append(make("b", title + named + unit));
    if (panel.series.length) for (const text of panel.note) heading.append(make("span", text, "note"));
    const [holder, canvas] = [make("div", undefined, "holder"), make("canvas")];
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${chart.title}: ${panel.title}`);
    holder.tabIndex = 0;
    const [cross, selection] = [make("i", undefined, "cursor-line"), make("i", undefined, "selection")];
    cross.hidden = selection.hidden = true;
    holder.append(canvas, selection, cross);
    node.append(heading, holder);
    return { index, node, holder, canvas, cross, selection };
  }

  // One name stands for the series of that name in all panels; it switches them off and on.
  function legend(figure) {
    const keys = make("div", undefined, "chart-keys");
    const named = new Map();
    for (const panel of figure.chart.panels) for (const series of panel.series) if (!named.has(series.name) && series.style !== "ranges") named.set(series.name, series);
    for (const [name, series] of named) {
      const button = make("button", undefined, "key");
      button.type = "button";
      const shape = series.style === "bars" || series.style === "spans" ? "swatch" : series.style === "points" ? `swatch ${series.symbol}` : `swatch line${series.reference ? " dashed-1" : ""}`;
      const swatch = make("i", undefined, shape);
      figure.swatches.push([series.colour, swatch]);
      button.append(swatch, name);
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => {
        if (!figure.hidden.delete(name)) figure.hidden.add(name);
        button.setAttribute("aria-pressed", String(!figure.hidden.has(name)));
        figure.spans = spans(figure.chart, figure.hidden);
        draw(figure);
      });
      keys.append(button);
    }
    keys.append(figure.output, page.save.buttons(figure.chart.name, figure.node, HEAD, () => shownPoints(figure)));
    return keys;
  }

  // Every point that is drawn, as in the files of `--figures`; lines of reference are none.
  function shownPoints({ chart, hidden }) {
    const value = (axis, one) => axis.names?.[Math.round(one)] ?? one;
    const rowsOf = (panel, one) => one.x.map((x, at) =>
      [panel.title, one.name, one.labels?.[at], value(chart.x, x), chart.x.unit, value(panel.y, one.y[at]), panel.y.unit]);
    return chart.panels.flatMap((panel) => panel.series.filter((one) => !one.reference && !hidden.has(one.name)).flatMap((one) => rowsOf(panel, one)));
  }

  function build(node) {
    const chart = data.charts[Number(node.dataset.chart)];
    const figure = { chart, node, view: new Map(), hidden: new Set(), swatches: [], output: make("output", undefined, "reading"), found: null };
    figure.grid = make("div", undefined, "panels");
    figure.places = chart.panels.map((_, index) => panelNode(chart, index));
    figure.grid.append(...figure.places.map((place) => place.node));
    figure.places.forEach((place) => listen(figure, place));
    node.insertBefore(legend(figure), node.querySelector("figcaption"));
    node.insertBefore(figure.grid, node.querySelector("figcaption"));
    figure.spans = spans(chart, figure.hidden);
    draw(figure);
    return figure;
  }

  const figures = [...document.querySelectorAll("figure.chart")].map(build);
  const widths = new Map();
  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const figure = figures.find((one) => one.node === target);
      if (widths.get(target) === target.clientWidth || isPrinting()) continue;
      widths.set(target, target.clientWidth);
      draw(figure);
    }
  });
  figures.forEach(({ node }) => { widths.set(node, node.clientWidth); resized.observe(node); });
  page.onTheme(() => figures.forEach(draw));
  const of = (name) => figures.find(({ chart }) => chart.name === name);
  return {
    zoom: (name, low, high) => zoom(of(name), of(name).places[0], { low, high }),
    placeOf: (name, panel, x, y) => { const place = of(name).places[panel]; return { x: place.x.of(x), y: place.y.of(y) }; },
  };
})();
