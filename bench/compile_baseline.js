// The least that a compiler on TypeScript's parser does: parse each file, visit every node, and write the JSX text,
// the string literals and the tag names in source order. No imports, no evaluation, no checks, no layout.
// The first argument is the package: typescript, or ts-morph, through which react-agentic uses it.
const fs = require('node:fs');
const library = require(process.argv[2]);
const ts = library.ts ?? library;
const out = process.argv[3];
const project = library.Project && new library.Project();

function parse(path) {
  if (project) return project.addSourceFileAtPath(path).compilerNode;
  return ts.createSourceFile(path, fs.readFileSync(path, 'utf8'), ts.ScriptTarget.ESNext, true, ts.ScriptKind.TSX);
}

for (const path of process.argv[4].split('\n')) {
  const file = parse(path);
  const lines = [];
  const visit = (node) => {
    if (ts.isJsxText(node) || ts.isStringLiteralLike(node)) lines.push(node.text.trim());
    else if (ts.isJsxOpeningLikeElement(node)) lines.push(`## ${node.tagName.getText(file)}`);
    ts.forEachChild(node, visit);
  };
  visit(file);
  fs.writeFileSync(`${out}/${path.split('/').pop()}.md`, lines.filter(Boolean).join('\n\n') + '\n');
}
