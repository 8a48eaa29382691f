/** A YAML file as values, with the place of each. */
import type { Problem } from './problem.ts';

export type Path = readonly (string | number)[];

export interface YamlFile {
  /** What could be read; where it `isBroken`, this may be half of it, or not what was meant. */
  value: unknown;
  /** The file is no YAML, or says what no configuration can say. */
  isBroken: boolean;
  problems: Problem[];
  /** `file:line:column` of a value; of its key with `ofKey`; of the key around it where it is not there. */
  placeOf(path: Path, ofKey?: boolean): string;
  /** How much of a value is out of the environment; `whole` is one variable without quotes, whose type is open. */
  fromEnvironment(path: Path): 'none' | 'part' | 'whole';
  /** A text as it stands in the file, with `${NAME}` in it; undefined where it is no text out of the environment. */
  writtenAs(path: Path): string | undefined;
  /** A number, `true` or `false` as it stands in the file: `1.10`, `0x1F`. */
  sourceOf(path: Path): string | undefined;
}
