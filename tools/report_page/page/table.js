// A table that is sorted by its headings and shown page by page, so that 100000 rows cost what 100 do.

const rowsPerPage = 100;

/**
 * `columns`: {label, value(row): what it is sorted by, cell(row): what is shown, isNumber}. `rows`: whatever these
 * take. `sort`: {column, isDown} at first. `classOf`: a row's class. `show(rows)` puts other rows in.
 */
function sortableTable({caption, columns, rows, sort = null, classOf = () => null}) {
  let order = sort;
  let page = 0;
  let shown = [];
  const body = element("tbody");
  const pager = element("div", {class: "pager"});
  const headings = columns.map(
      (column, i) => element(
          "th", {scope: "col", class: column.isNumber ? "number" : null},
          element("button", {type: "button", onclick: () => sortBy(i)}, column.label)));

  function sortBy(i) {
    order = {column: i, isDown: order !== null && order.column === i && !order.isDown};
    page = 0;
    arrange();
  }

  function arrange() {
    headings.forEach((heading, i) => {
      const isSorted = order !== null && order.column === i;
      heading.setAttribute("aria-sort", isSorted ? (order.isDown ? "descending" : "ascending") : "none");
      heading.firstChild.textContent = columns[i].label + (isSorted ? (order.isDown ? " ▼" : " ▲") : "");
    });
    if (order !== null) {
      const keyed = shown.map((row) => [columns[order.column].value(row), row]);
      const sign = order.isDown ? -1 : 1;
      // What is not known stands last, whichever way.
      keyed.sort(
          ([a], [b]) =>
              (isUnknown(a)     ? (isUnknown(b) ? 0 : 1) :
                   isUnknown(b) ? -1 :
                   a < b        ? -sign :
                   a > b        ? sign :
                                  0));
      shown = keyed.map(([, row]) => row);
    }
    draw();
  }

  function draw() {
    const first = page * rowsPerPage;
    body.replaceChildren(
        ...shown.slice(first, first + rowsPerPage)
            .map((row) => element("tr", {class: classOf(row)}, columns.map((column) => cellOf(column, row)))));
    const pages = Math.ceil(shown.length / rowsPerPage);
    pager.hidden = pages <= 1;
    const turn = (text, to) => element(
        "button", {
          type: "button",
          disabled: to < 0 || to >= pages,
          onclick: () => {
            page = to;
            draw();
          }
        },
        text);
    pager.replaceChildren(
        turn("Previous", page - 1),
        element(
            "span", {role: "status"},
            `rows ${first + 1} to ${Math.min(first + rowsPerPage, shown.length)} of ${
                shown.length.toLocaleString("en")}`),
        turn("Next", page + 1));
  }

  const made = element(
      "div", {},
      element(
          "div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
          element(
              "table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, headings)), body)),
      pager);
  made.show = (others) => {
    shown = [...others];
    page = 0;
    arrange();
  };
  made.show(rows);
  return made;
}

function isUnknown(value) {
  return value === null || value === undefined || value === "" || Number.isNaN(value);
}

/** Dates, names and keys of that length are not broken into lines. */
const longestUnbroken = 14;

function cellOf(column, row) {
  const cell = element("td", {class: column.isNumber ? "number" : "text"}, column.cell(row));
  if (cell.textContent.length <= longestUnbroken) cell.classList.add("unbroken");
  return cell;
}
