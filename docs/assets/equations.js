// Typesets the equations of a page; KaTeX lies beside this file, so nothing is loaded from elsewhere.
document.querySelectorAll(".arithmatex").forEach((element) => {
  renderMathInElement(element, {
    delimiters: [
      { left: "\\[", right: "\\]", display: true },
      { left: "\\(", right: "\\)", display: false },
    ],
  });
});
