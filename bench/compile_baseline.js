// The least that a compiler on TypeScript's parser does: parse each file, visit every node, and write the JSX text,
// the string literals and the tag names in source order. No imports, no evaluation, no checks, no layout.
const fs = require('node:fs');
const ts = require(process.argv[2]);
const out = process.argv[3];

for (const path of process.argv[4].split('\n')) {
  const file = ts.createSourceFile(path, fs.readFileSync(path, 'utf8'), ts.ScriptTarget.ESNext, true, ts.ScriptKind.TSX);
  const lines = [];
  const visit = (node) => {
    if (ts.isJsxText(node) || ts.isStringLiteralLike(node)) lines.push(node.text.trim());
    else if (ts.isJsxOpeningLikeElement(node)) lines.push(`## ${node.tagName.getText(file)}`);
    ts.forEachChild(node, visit);
  };
  visit(file);
  fs.writeFileSync(`${out}/${path.split('/').pop()}.md`, lines.filter(Boolean).join('\n\n') + '\n');
}
