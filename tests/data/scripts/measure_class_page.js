// Scrolls the table of a class; tells the sizes of the page, the table and the names.
var box = d.querySelector(".scroll"), name = d.querySelector("tbody th");
box.scrollLeft = 200;
var moved = box.scrollLeft, left = name.getBoundingClientRect().left;
return {
  page: d.documentElement.scrollWidth - w.innerWidth,
  table: box.scrollWidth - box.clientWidth,
  moved: moved,
  name: left - box.getBoundingClientRect().left,
  names: name.getBoundingClientRect().width,
};
