// What react-agentic builds upon, without the compiler itself, which is not on npm. The first argument is the directory
// of the packages, the second which baseline: `typescript` or `ts-morph`; then the output directory and the sources.
//
// - typescript: parse each file, visit every node, and write the JSX text, the string literals and the tag names.
// - ts-morph: the same with what react-agentic's build command loads and calls. It adds each file to one Project, looks
//   for the root among all nodes, and reads tags, attributes and text through the wrappers of ts-morph.
//
// Neither follows imports, evaluates, checks or lays out anything.
const fs = require('node:fs');
const [packages, name, out, sources] = process.argv.slice(2);
const load = (each) => require(`${packages}/${each}`);

function withTypeScript(ts) {
  const lines = (file) => {
    const found = [];
    const visit = (node) => {
      if (ts.isJsxText(node) || ts.isStringLiteralLike(node)) found.push(node.text.trim());
      else if (ts.isJsxOpeningLikeElement(node)) found.push(`## ${node.tagName.getText(file)}`);
      ts.forEachChild(node, visit);
    };
    visit(file);
    return found;
  };
  return (path) => lines(
    ts.createSourceFile(path, fs.readFileSync(path, 'utf8'), ts.ScriptTarget.ESNext, true, ts.ScriptKind.TSX));
}

function withTsMorph({ Node, Project, ModuleKind, ScriptTarget, ts }) {
  const project = new Project({
    compilerOptions: { jsx: ts.JsxEmit.Preserve, target: ScriptTarget.ESNext, module: ModuleKind.ESNext },
  });
  const isJsx = (node) => Node.isJsxElement(node) || Node.isJsxSelfClosingElement(node) || Node.isJsxFragment(node);
  const read = (node, found) => {
    if (Node.isJsxText(node)) found.push(node.getText().trim());
    const opening = Node.isJsxElement(node) ? node.getOpeningElement() : node;
    if (Node.isJsxOpeningElement(opening) || Node.isJsxSelfClosingElement(opening)) {
      found.push(`## ${opening.getTagNameNode().getText()}`);
      for (const attribute of opening.getAttributes()) {
        const value = Node.isJsxAttribute(attribute) && attribute.getInitializer();
        if (value) found.push(Node.isStringLiteral(value) ? value.getLiteralValue() : value.getText());
      }
    }
    if (Node.isJsxElement(node) || Node.isJsxFragment(node)) node.getJsxChildren().forEach((child) => read(child, found));
  };
  return (path) => {
    const found = [];
    let root;
    project.addSourceFileAtPath(path).forEachDescendant((node) => {
      if (Node.isStringLiteral(node)) found.push(node.getLiteralValue());
      if (!root && isJsx(node)) root = node;
    });
    if (root) read(root, found);
    return found;
  };
}

if (name === 'ts-morph') ['commander', 'chokidar', 'globby', 'picocolors'].forEach(load);
const lines = name === 'ts-morph' ? withTsMorph(load(name)) : withTypeScript(load(name));
for (const path of sources.split('\n')) {
  fs.writeFileSync(`${out}/${path.split('/').pop()}.md`, `${lines(path).filter(Boolean).join('\n\n')}\n`);
}
