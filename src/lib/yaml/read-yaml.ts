/** Reads a YAML file, with what is wrong in it and the place of each value. */
import { isScalar, LineCounter, parseDocument, type Document } from 'yaml';
import { spotOf } from './spot.ts';
import { substitute, type Origin } from './substitute.ts';
import type { Path, YamlFile } from './yaml-file.ts';
import { structureProblems, syntaxProblems } from './yaml-problems.ts';

/** Parses YAML 1.2 and puts environment variables in for `${NAME}`; `$${NAME}` is left as `${NAME}`. */
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
  // Where it is no YAML, the document is a guess, whose structure says nothing.
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
    const text = 'the aliases (*name) or merge keys (<<) of this file cannot be resolved';
    return { value: undefined, failure: [{ offset: 0, text }] };
  }
}
