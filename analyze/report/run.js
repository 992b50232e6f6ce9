"use strict";
// The figures of a run's report: each is drawn when it comes into sight, and again when light and dark change.
// Everything shown is put in as text, never as markup.
(() => {
  const { data, element, make, plotText, colour, themed } = page;
  const SYMBOLS = { circle: "circle", ring: "circle-open", cross: "x-thin-open" };
  const SMALL_PANEL = 230;
  const WIDE_PANEL = 300;
  const PAPER_WIDTH = 700;

  function axis(described, small) {
    const result = {
      title: { text: plotText(described.unit ? `${described.label} [${described.unit}]` : described.label), font: { size: small ? 11 : 12 }, standoff: 5 },
      ticksuffix: described.prefixed && !small ? described.unit : "",
      type: described.log ? "log" : "linear", gridcolor: colour("--line"), zeroline: false, automargin: true,
      tickformat: described.prefixed ? "~s" : "", rangemode: described.log ? "normal" : "tozero", tickfont: { size: small ? 10 : 12 },
    };
    return described.log ? { ...result, dtick: 1 } : { ...result, nticks: small ? 5 : 8 };
  }

  // Panels stand in a grid, row by row; each has axes of its own, and those over one time move together.
  function layout(chart) {
    const columns = Math.min(chart.columns, chart.panels.length);
    const rows = Math.ceil(chart.panels.length / columns);
    const small = columns > 2;
    const lines = Math.max(...chart.panels.map((panel) => panel.note.length));
    const panelHeight = small ? SMALL_PANEL : WIDE_PANEL;
    const total = rows * panelHeight;
    // Between rows: ticks, a title of the axis, the next panel's title and notes.
    const gaps = { x: small ? 0.06 : 0.1, y: rows > 1 ? (75 + 14 * lines) / total : 0 };
    const width = (1 - gaps.x * (columns - 1)) / columns;
    const height = (1 - gaps.y * (rows - 1)) / rows;
    const result = {
      margin: { l: 70, r: 20, t: 30 + 14 * lines, b: 60 }, hovermode: "closest", showlegend: true, dragmode: "zoom",
      height: total + 100 + 14 * lines, ...(page.isPrinting() ? { width: PAPER_WIDTH } : {}),
      legend: { orientation: "h", y: -60 / total, yanchor: "top", font: { size: 12 } },
      paper_bgcolor: colour("--ground"), plot_bgcolor: colour("--ground"), font: { color: colour("--ink") }, annotations: [],
    };
    chart.panels.forEach((panel, index) => {
      const suffix = index ? String(index + 1) : "";
      const [left, top] = [(index % columns) * (width + gaps.x), 1 - Math.floor(index / columns) * (height + gaps.y)];
      const over = chart.shared_x && index ? { matches: "x" } : {};
      const last = !chart.shared_x || index + columns >= chart.panels.length;
      const x = axis(chart.x, small);
      result[`xaxis${suffix}`] = { ...x, title: last ? x.title : undefined, domain: [left, left + width], anchor: `y${suffix}`, ...over };
      const y = axis(panel.y, small);
      result[`yaxis${suffix}`] = {
        ...y, title: small && index % columns ? undefined : y.title, domain: [Math.max(0, top - height), Math.min(1, top)], anchor: `x${suffix}`,
      };
      const empty = panel.series.length === 0;
      const place = { xref: "paper", yref: "paper", showarrow: false };
      const notes = panel.note.map(plotText);
      const heading = [`<b>${plotText(panel.title)}</b>`, ...(empty ? [] : notes)].join("<br>");
      result.annotations.push({
        ...place, text: heading, align: "left", x: left, y: Math.min(1, top), xanchor: "left", yanchor: "bottom", font: { size: small ? 10 : 12 },
      });
      if (empty) result.annotations.push({
        ...place, text: notes.join("<br>"), x: left + width / 2, y: top - height / 2, xanchor: "center", yanchor: "middle", font: { color: colour("--faint") },
      });
    });
    return result;
  }

  // One name in the legend stands for the series of that name in all panels.
  function traces(chart) {
    const named = new Set();
    return chart.panels.flatMap((panel, index) => panel.series.map((series) => {
      const first = !named.has(series.name);
      named.add(series.name);
      const suffix = index ? String(index + 1) : "";
      const lined = series.style !== "points";
      const look = themed({ color: series.colour });
      return {
        type: "scatter", x: series.x, y: series.y, name: plotText(series.name), legendgroup: series.name, showlegend: first,
        xaxis: `x${suffix}`, yaxis: `y${suffix}`, mode: lined ? "lines" : "markers",
        hovertemplate: `%{x:.5s} ${chart.x.unit}, %{y:.4s} ${panel.y.unit}`,
        ...(lined
          ? { line: { ...look, width: series.reference ? 1 : 1.3, dash: series.reference ? "dash" : "solid", shape: series.style === "steps" ? "hv" : "linear" } }
          : { cliponaxis: false, marker: { ...look, size: series.symbol === "circle" ? 4 : 8, symbol: SYMBOLS[series.symbol] } }),
      };
    }));
  }

  const drawn = new Set();

  const onPaper = new Set();

  async function draw(chart) {
    drawn.add(chart);
    const place = `chart-${chart.name}`;
    await Plotly.react(place, traces(chart), layout(chart), { responsive: true, displaylogo: false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "sendDataToCloud"] });
    if (page.isPrinting()) onPaper.add(chart);
    else if (onPaper.delete(chart)) Plotly.Plots.resize(place); // it keeps the width of paper until it is told
  }

  const sight = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const chart = data.charts.find((one) => `chart-${one.name}` === entry.target.id);
      if (entry.isIntersecting && !drawn.has(chart)) draw(chart);
    }
  }, { rootMargin: "600px" });

  for (const chart of data.charts) {
    const figure = make("figure");
    const place = make("div", undefined, "chart");
    place.id = `chart-${chart.name}`;
    figure.append(make("h3", chart.title), place, make("figcaption", chart.caption));
    element("charts").append(figure);
    sight.observe(place);
  }
  page.onTheme(() => (page.isPrinting() ? data.charts : [...drawn]).forEach(draw));
})();
