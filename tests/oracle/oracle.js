// Answers, for each line of JSON on standard input, what TypeScript says about a definition:
// the syntax errors, and the JSX text of the exported element that is there whatever its expressions give.
const ts = require(process.argv[2]);

const OPTIONS = {
  noLib: true, noResolve: true, noEmit: true, types: [], strict: false, allowJs: true,
  jsx: ts.JsxEmit.Preserve, target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext,
  moduleDetection: ts.ModuleDetectionKind.Force, allowImportingTsExtensions: true,
};
const NAME = 'team.tsx';

// Grammar is checked in three places: the parser, the binder and the checker. The checker's other messages,
// about types and names, start at 2000; of those only redeclarations are about the text itself.
const GRAMMAR_ELSEWHERE = new Set([2300, 2364, 2451, 2462, 2528, 2657, 2779, 5076, 5085, 6188, 6189, 17000, 17001, 17002, 17006, 17007, 17008, 17012, 17013, 17014, 17015, 18007, 18010, 18016]);
// About settings of the project, or about what a type or a name means, rather than about the text.
const NOT_GRAMMAR = new Set([1169, 1170, 1208, 1225, 1268, 1332, 1335, 1259, 1286, 1287, 1192, 1202, 1203, 1280, 1295, 1323, 1343, 1355, 1375, 1378, 1470, 1479]);

function isGrammar(found) {
  const code = found.code;
  return (code < 2000 && !NOT_GRAMMAR.has(code)) || GRAMMAR_ELSEWHERE.has(code);
}

function check(text) {
  const file = ts.createSourceFile(NAME, text, OPTIONS.target, true, ts.ScriptKind.TSX);
  const host = {
    getSourceFile: (name) => (name === NAME ? file : undefined),
    fileExists: (name) => name === NAME, readFile: () => undefined, writeFile: () => {},
    getCanonicalFileName: (name) => name, useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n', getCurrentDirectory: () => '/', getDefaultLibFileName: () => 'lib.d.ts',
  };
  const program = ts.createProgram([NAME], OPTIONS, host);
  const found = [...program.getSyntacticDiagnostics(file)];
  if (!found.length) found.push(...program.getSemanticDiagnostics(file));
  const errors = found.filter(isGrammar).map((each) => ({
    code: each.code, start: each.start, message: ts.flattenDiagnosticMessageText(each.messageText, ' '),
  }));
  return { errors, texts: errors.length ? [] : texts(file) };
}

function texts(file) {
  const found = [];
  const visit = (node) => {
    if (ts.isJsxText(node)) found.push(node.text);
    else if (ts.isParenthesizedExpression(node)) visit(node.expression);
    else if (ts.isJsxElement(node) || ts.isJsxFragment(node)) node.children.forEach(visit);
  };
  file.statements.filter(ts.isExportAssignment).forEach((exported) => visit(exported.expression));
  return found;
}

require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  let answer;
  try {
    answer = check(JSON.parse(line));
  } catch (error) {
    answer = { errors: [{ code: -1, start: 0, message: String(error) }], texts: [] };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
});
