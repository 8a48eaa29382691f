/** Environment variables in the place of `${NAME}` in a YAML document. */
import { isScalar, visit, type Document, type Node, type Scalar } from 'yaml';
import type { OffsetProblem } from './yaml-problems.ts';

/** What a text out of the environment was before. */
export interface Origin {
  /** `whole` is one variable without quotes, whose type is open. */
  kind: 'part' | 'whole';
  /** As it stands in the file. */
  text: string;
}

/** Changes the document. A variable's value is not looked into again: `${…}` in it stays. */
export function substitute(
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
    if (end === '') report('a `${` has no `}`; expected ${NAME}, or $${ for these characters themselves');
    else if (!/^[A-Za-z_]\w*$/.test(name))
      report('what stands in `${…}` is no name of an environment variable; expected letters, digits and _');
    else if (env[name] === undefined)
      report(`the environment variable ${name} is not set; expected it for \${${name}}`);
    else if (env[name] === '')
      report(`the environment variable ${name} is empty; expected it for \${${name}}`);
    else return env[name];
    return '';
  });
  return { text: replaced, count };
}
