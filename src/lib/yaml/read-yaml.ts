/** Reads a YAML file, with its problems and the place of each value. */
import {
  isScalar,
  LineCounter,
  parseDocument,
  type Document,
  visit,
  type Node,
  type Scalar,
  isAlias,
  isMap,
  isNode,
  isSeq,
  type YAMLError,
} from 'yaml';
import { type Problem, shownKey } from './problem.ts';

export type Path = readonly (string | number)[];

export interface YamlFile {
  /** Incomplete or wrong if the file `isBroken`. */
  value: unknown;
  /** True if the file is not valid YAML, or contains what no configuration allows. */
  isBroken: boolean;
  problems: Problem[];
  /** Returns `file:line:column` of a value, of its key with `ofKey`, or of the enclosing key if the value is missing. */
  placeOf(path: Path, ofKey?: boolean): string;
  /** Returns how much of a value comes from the environment. `whole`: one unquoted variable, of any type. */
  fromEnvironment(path: Path): 'none' | 'part' | 'whole';
  /** Returns a text as written in the file, with its `${NAME}`; undefined if it uses no variable. */
  writtenAs(path: Path): string | undefined;
  /** Returns a number, `true` or `false` as written in the file: `1.10`, `0x1F`. */
  sourceOf(path: Path): string | undefined;
}

/** Parses YAML 1.2 and replaces `${NAME}` by environment variables. `$${NAME}` becomes `${NAME}`. */
export function readYaml(file: string, text: string, env: NodeJS.ProcessEnv): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
    merge: true,
  });
  const place = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    // An empty text has no line at all.
    return `${file}:${Math.max(line, 1)}:${Math.max(col, 1)}`;
  };
  const syntax = syntaxProblems(document, text);
  // If the file is not YAML, the document is a guess, and its structure says nothing.
  const broken = syntax.length > 0 ? syntax : structureProblems(document);
  const { origins, problems } = substitute(document, env);
  const { value, failure } = valueOf(document);
  const all = broken.length > 0 ? broken : [...failure, ...problems];
  const originAt = (path: Path): Origin | undefined => origins.get(spotOf(document, path).node);
  return {
    value,
    isBroken: broken.length + failure.length > 0,
    problems: all.map(({ offset, text: problem }) => ({ where: place(offset), text: problem })),
    placeOf: (path, ofKey = false) => {
      const spot = spotOf(document, path);
      return place(ofKey || spot.node === undefined ? spot.keyOffset : spot.valueOffset);
    },
    fromEnvironment: (path) => originAt(path)?.kind ?? 'none',
    writtenAs: (path) => originAt(path)?.text,
    sourceOf: (path) => {
      const { node } = spotOf(document, path);
      return isScalar(node) ? node.source : undefined;
    },
  };
}

function valueOf(document: Document): { value: unknown; failure: { offset: number; text: string }[] } {
  try {
    return { value: document.toJS({ maxAliasCount: 100 }) as unknown, failure: [] };
  } catch {
    const text = 'the aliases (*name) or merge keys (<<) of the file cannot be resolved';
    return { value: undefined, failure: [{ offset: 0, text }] };
  }
}

/** The text in the file that variables replaced. */
interface Origin {
  /** `whole` is one variable without quotation marks, which may have any type. */
  kind: 'part' | 'whole';
  text: string;
}

/** Replaces variables in the document. A variable's own `${…}` stays as it is. */
function substitute(
  document: Document,
  env: NodeJS.ProcessEnv,
): { origins: Map<Node | undefined, Origin>; problems: OffsetProblem[] } {
  const origins = new Map<Node | undefined, Origin>();
  const problems: OffsetProblem[] = [];
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value !== 'string' || !node.value.includes('${')) return;
      const text = node.value;
      const offset = node.range?.[0] ?? 0;
      const report = (problem: string): void => void problems.push({ offset, text: problem });
      const replaced = replaceVariables(text, env, report);
      node.value = replaced.text;
      if (replaced.count > 0) origins.set(node, { kind: isWhole(node, text) ? 'whole' : 'part', text });
    },
  });
  return { origins, problems };
}

function isWhole(node: Scalar, text: string): boolean {
  return isScalar(node) && node.type === 'PLAIN' && /^\$\{[^}]*\}$/.test(text);
}

const reference = /(\$?)\$\{([^}]*)(\}?)/g;

function replaceVariables(
  text: string,
  env: NodeJS.ProcessEnv,
  report: (problem: string) => void,
): { text: string; count: number } {
  let count = 0;
  const replaced = text.replaceAll(reference, (whole: string, escape: string, name: string, end: string) => {
    if (escape !== '') return whole.slice(1);
    count += 1;
    if (end === '') report('`${` without `}`; expected ${NAME}, or $${ for a literal ${');
    else if (!/^[A-Za-z_]\w*$/.test(name))
      report('invalid variable name in `${…}`; expected letters, digits and _');
    else if (env[name] === undefined)
      report(
        `the environment variable ${name} is not set${/^[a-z]/.test(name) ? `; a column of the list is {{ ${name} }}` : ''}`,
      );
    else if (env[name] === '') report(`the environment variable ${name} is empty`);
    else return env[name];
    return '';
  });
  return { text: replaced, count };
}

interface Spot {
  /** Undefined if there is nothing at the path. */
  node: Node | undefined;
  /** Offset of the value, or of the alias or merge key that brings it. */
  valueOffset: number;
  /** Offset of its key. If there is nothing, of the key of the closest enclosing value. */
  keyOffset: number;
}

function spotOf(document: Document, path: Path): Spot {
  let spot: Spot = {
    node: document.contents ?? undefined,
    valueOffset: offsetOf(document.contents, 0),
    keyOffset: 0,
  };
  let isElsewhere = false;
  for (const name of path) {
    isElsewhere ||= isAlias(spot.node);
    const child = childOf(document, resolved(document, spot.node), name);
    if (child === undefined) return { ...spot, node: undefined };
    const { key, value, through } = child;
    const keyOffset = isElsewhere ? spot.keyOffset : offsetOf(through ?? key, spot.keyOffset);
    const valueOffset = isElsewhere ? spot.valueOffset : offsetOf(through ?? value, keyOffset);
    isElsewhere ||= through !== undefined;
    spot = { node: isNode(value) ? value : undefined, valueOffset, keyOffset };
  }
  return { ...spot, node: resolved(document, spot.node) };
}

interface Child {
  key: unknown;
  value: unknown;
  /** The `<<` that brings the child. */
  through?: unknown;
}

function childOf(document: Document, node: Node | undefined, name: string | number): Child | undefined {
  if (isSeq(node)) {
    const value = node.items[Number(name)];
    return value === undefined ? undefined : { key: value, value };
  }
  if (!isMap(node)) return undefined;
  const own = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(name));
  if (own !== undefined) return own;
  for (const { key, value } of node.items) {
    if (!isScalar(key) || key.value !== '<<' || !isNode(value)) continue;
    const source = resolved(document, value);
    for (const map of isSeq(source) ? source.items : [source]) {
      const child = isNode(map) ? childOf(document, resolved(document, map), name) : undefined;
      if (child !== undefined) return { ...child, through: key };
    }
  }
  return undefined;
}

function resolved(document: Document, node: Node | undefined): Node | undefined {
  return isAlias(node) ? node.resolve(document) : node;
}

function offsetOf(node: unknown, otherwise: number): number {
  return isNode(node) ? (node.range?.[0] ?? otherwise) : otherwise;
}

interface OffsetProblem {
  offset: number;
  text: string;
}

const quoteVariable = 'quote a variable within { } and [ ]: "${NAME}"; a number needs a line of its own';
const quoteIt = 'quote a placeholder: "{{ … }}"';

const words: Partial<Record<YAMLError['code'], string>> = {
  BAD_ALIAS: 'invalid alias (*name); quote it if it is text',
  BAD_DIRECTIVE: 'this line begins with %, which makes it a YAML directive; expected keys with values',
  BAD_DQ_ESCAPE: 'unknown escape after \\ in double quotes; expected \\\\ for a backslash, or single quotes',
  BAD_SCALAR_START: 'a text cannot begin with this character; quote it',
  BLOCK_AS_IMPLICIT_KEY: 'two keys on one line; use two lines, or quote a text that contains ": "',
  MULTILINE_IMPLICIT_KEY: 'this line has no key; expected `key: value`',
  MULTIPLE_DOCS: 'a second document begins here; expected one',
  RESOURCE_EXHAUSTION: 'nested too deeply',
  TAB_AS_INDENT: 'a tab in the indentation; expected spaces',
  TAG_RESOLVE_FAILED: 'unknown tag (!name); quote it if it is text',
  UNEXPECTED_TOKEN: 'unexpected here; quote it if it is part of a text',
};

/** Words for parser messages, for codes that have several meanings. */
const parserWords: [RegExp, string][] = [
  [/^Flow map/, 'a { is still open here; close it with }, or indent the lines within it'],
  [/^Flow sequence/, 'a [ is still open here; close it with ], or indent the lines within it'],
  [/^Missing closing/, 'a quote is still open here; close it'],
  [/^Block collections/, 'a comma is missing before this key'],
  [/must start at the same column/, 'this line has another indentation than its neighbours'],
];

/** Returns the first problem of each line, and only the first tab, because one slip causes several. */
function syntaxProblems(document: Document, text: string): OffsetProblem[] {
  const found = [...document.errors, ...document.warnings].map((error) => syntaxProblem(error, text));
  const ofLine = new Map<number, OffsetProblem>();
  for (const problem of found.toSorted((a, b) => a.offset - b.offset)) {
    const line = text.lastIndexOf('\n', problem.offset - 1);
    if (!ofLine.has(line)) ofLine.set(line, problem);
  }
  const problems = [...ofLine.values()];
  const firstTab = problems.find((problem) => problem.text === words.TAB_AS_INDENT);
  return problems.filter((problem) => problem.text !== words.TAB_AS_INDENT || problem === firstTab);
}

function syntaxProblem({ code, pos, message }: YAMLError, text: string): OffsetProblem {
  const [offset] = pos;
  if (code === 'DUPLICATE_KEY') {
    const [key = ''] = /^[\w-]*/.exec(text.slice(offset)) ?? [];
    return { offset, text: `${shownKey(key)} appears twice; expected it once` };
  }
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const [line = ''] = text.slice(start).split('\n', 1);
  if (text.slice(offset - 1, offset + 1) === '${') return { offset: offset - 1, text: quoteVariable };
  const placeholder = /(?:^|[:,[-])\s*(\{[{%])/.exec(line);
  if (placeholder !== null) return { offset: start + line.indexOf(placeholder[1] ?? ''), text: quoteIt };
  const own = parserWords.find(([pattern]) => pattern.test(message))?.[1];
  return { offset, text: own ?? words[code] ?? message };
}

/** Finds what YAML allows but no configuration can mean. */
function structureProblems(document: Document): OffsetProblem[] {
  const problems: OffsetProblem[] = [];
  const report = (node: Node, text: string): symbol => {
    problems.push({ offset: node.range?.[0] ?? 0, text });
    return visit.SKIP;
  };
  visit(document, {
    Map(_, node) {
      const key = node.items.map((pair) => pair.key).find((each) => !isScalar(each) || each.value === null);
      if (key === undefined) return undefined;
      return report(node, isMap(key) ? quoteIt : 'a key must be a text; expected `key: value`');
    },
    Scalar(_, node) {
      const { value } = node;
      if (typeof value === 'string' && value.includes('\0'))
        return report(node, 'this text contains a NUL character, which is not allowed');
      if (typeof value === 'object' && value !== null)
        return report(node, 'this tag (!!name) makes a value that JSON cannot represent; quote it');
      if (typeof value !== 'number') return undefined;
      if (!Number.isFinite(value)) return report(node, 'JSON cannot represent this number; quote it');
      const isExact = !Number.isInteger(value) || Number.isSafeInteger(value);
      return isExact ? undefined : report(node, 'this number loses digits; quote it');
    },
    Alias(_, node, path) {
      const target = node.resolve(document);
      if (target === undefined)
        return report(node, 'no anchor (&name) precedes this alias (*name); quote a text that begins with *');
      return path.some((outer) => isNode(outer) && !isAlias(outer) && outer === target)
        ? report(node, 'this alias (*name) refers to something that contains it')
        : undefined;
    },
  });
  return problems;
}
