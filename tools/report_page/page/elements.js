// Elements of the page. Texts go in as text, never as markup.

/**
 * `attributes`: by name; those that begin with "on" are listeners, false and null are none. Children: elements or
 * texts.
 */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on"))
      made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null)
      made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((each) => each !== null && each !== ""));
  return made;
}

/** A button that reads as a link: its target is within this page, which may be a frame that has no address. */
function link(text, route) {
  return element("button", {type: "button", class: "plain", onclick: () => navigate(route)}, text);
}

/** A labelled selection. `options`: [value, text] each. */
function dropdown(label, options, selected, onChange) {
  const select = element(
      "select", {onchange: () => onChange(select.value)},
      options.map(([value, text]) => element("option", {value, selected: value === selected}, text)));
  return element("label", {}, label, select);
}

/** Pairs of name and value; pairs without a value are left out. */
function facts(pairs) {
  return element(
      "dl", {class: "facts"},
      pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined)
          .flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

function section(title, ...children) {
  return element("section", {"aria-label": title}, element("h2", {}, title), ...children);
}
