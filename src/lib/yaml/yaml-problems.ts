/** What is wrong with a YAML document, in words that quote nothing of it: it may hold a key. */
import { isAlias, isMap, isNode, isScalar, visit, type Document, type Node, type YAMLError } from 'yaml';
import { shownKey } from './shown.ts';

export interface OffsetProblem {
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

/** The first of each line, since one slip makes several; of tabs the first of the file: an editor makes them everywhere. */
export function syntaxProblems(document: Document, text: string): OffsetProblem[] {
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
    return { offset, text: `${shownKey(key)} is there twice; expected it once` };
  }
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const [line = ''] = text.slice(start).split('\n', 1);
  if (text.slice(offset - 1, offset + 1) === '${') return { offset: offset - 1, text: quoteVariable };
  const placeholder = /(?:^|[:,[-])\s*(\{[{%])/.exec(line);
  if (placeholder !== null) return { offset: start + line.indexOf(placeholder[1] ?? ''), text: quoteIt };
  return { offset, text: words[code] ?? message };
}

/** What YAML allows and no configuration can mean. */
export function structureProblems(document: Document): OffsetProblem[] {
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
      if (target === undefined) return report(node, 'no anchor (&name) precedes this alias (*name)');
      return path.some((outer) => isNode(outer) && !isAlias(outer) && outer === target)
        ? report(node, 'this alias (*name) refers to something that contains it')
        : undefined;
    },
  });
  return problems;
}
