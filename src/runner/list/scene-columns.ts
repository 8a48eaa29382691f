/** The columns of scenes: compares the templates of a batch with the columns of its manifests and lists. */
import { closest, didYouMean } from '../../lib/text/closest.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { ConfigError, type Problem } from '../../lib/yaml/problem.ts';
import { shownFile } from '../../lib/yaml/yaml-file.ts';
import type { CheckedList } from '../checkpoint/checked-list.ts';
import type { Config, NamedAxis } from '../config/config.ts';
import { compileInput, defaultInput, type InputTemplate } from '../config/input-template.ts';
import { nameValues } from '../config/read-config.ts';
import { listed, type Template } from '../config/template.ts';
import { axisNames, idColumnOf, seedNumberColumn } from '../core/expansion.ts';
import type { SceneRules } from '../core/scene.ts';
import type { Manifest } from '../manifest/manifest.ts';

/** Name of the row number in templates: 1 for the first row of all manifests. */
export const rowNumber = 'row';

/** Column of a batch with several lists: path of the row's list, relative to the folder of pipeline.yaml. */
export const sourceColumn = 'source';

/** Columns of the scenes of one batch: those of its lists, those that `scenes` adds, and those that templates use. */
export class SceneColumns {
  readonly #config: Config;
  readonly #rules: SceneRules;
  /** Columns that `scenes` adds to each row. */
  readonly added: string[];
  /** Names that templates may use without a column: `row`, and `source` if the batch has several lists or a glob, which may match several. */
  readonly free: string[];
  /** True if a template uses the number of the row. */
  readonly usesRow: boolean;

  constructor(config: Config, rules: SceneRules) {
    const { manifest, manifestFiles, input, output } = config;
    this.#config = config;
    this.#rules = rules;
    this.added = addedColumns(config);
    const axes = axesOf(config);
    const maySeveral = manifestFiles.length > 1 || manifestFiles.some(({ path }) => !manifest.includes(path));
    const hasSource = rules.addsSource && maySeveral && !axes.includes(sourceColumn);
    this.free = [rowNumber, ...(hasSource ? [sourceColumn] : [])];
    const used = [...(input?.columns.map(({ name }) => name) ?? []), ...(output.name?.names ?? [])];
    this.usesRow = used.includes(rowNumber) && !axes.includes(rowNumber);
  }

  /** Returns the input for these columns; undefined if `input` is not set and none is called scene or prompt. */
  inputOf(columns: readonly string[]): InputTemplate | undefined {
    if (this.#config.input !== undefined) return this.#config.input;
    const axes = axesOf(this.#config);
    const input = defaultInput([...columns, ...axes]);
    if (input === undefined) return undefined;
    const whole = axes.includes('seed') ? { ...input, seed: '{{ seed }}' } : input;
    return compileInput(whole, (_, text) => raise(text));
  }

  /** Returns a check that throws if a picture's name cannot be made, before the picture is paid for. */
  nameCheck(columns: string[] | undefined): (row: JsonObject) => void {
    const { name } = this.#config.output;
    if (name === undefined) return () => undefined;
    const wanted = columnsOfName(name);
    if (name.isPlain && columns !== undefined) return () => undefined;
    return (row) => {
      if (name.isPlain && wanted.every((column) => Object.hasOwn(row, column))) return;
      name.renderText({ ...row, id: 'id', seed: '', index: 1 });
    };
  }

  /** Returns problems of a header: used columns that nothing has, and columns that `scenes` also has. */
  headerProblems({ path, columns = [], isHeaderless = false }: Manifest): Problem[] {
    const { added } = this;
    const taken = this.takenNames(path, new Set(columns));
    const missing =
      this.inputOf(columns) === undefined
        ? [this.noPrompt(path, columns)]
        : missingColumns(
            this.#config,
            new Set([...columns, ...added, ...this.free]),
            describeColumns(path, columns, added),
          );
    if (missing.length > 0 && columns[0]?.startsWith('# ') === true)
      return [...taken, { where: path, text: commentAsHeader }];
    if (missing.length > 0 && (isHeaderless || columns.some(isValue)))
      return [...taken, { where: path, text: noHeader(columns) }];
    return [...taken, ...missing];
  }

  /** Returns the problem of a list without a column that is sent. */
  noPrompt(path: string, columns: string[]): Problem {
    const hint = inputHint([...columns, ...this.added]);
    const text = `has no column called scene or prompt, only ${listed(columns)}. Say in pipeline.yaml what a job is sent${hint}`;
    return { where: path, text };
  }

  /** Returns two columns if either may hold the prompt, so that a person has to choose; otherwise undefined. */
  ambiguousPrompt(columns: readonly string[]): [scene: string, prompt: string] | undefined {
    if (this.#config.input !== undefined) return undefined;
    const all = [...columns, ...axesOf(this.#config)];
    const [scene, prompt] = ['scene', 'prompt'].map(
      (key) => all.find((name) => name === key) ?? all.find((name) => name.toLowerCase() === key),
    );
    return scene === undefined || prompt === undefined ? undefined : [scene, prompt];
  }

  /** Returns remarks on where ids come from. `columns`: those of a list with a header. */
  idRemarks(columns: readonly string[]): string[] {
    const id = idColumnOf(columns, this.#rules);
    const other = columns.find((name) => name.trim().toLowerCase() === 'id' && name !== id);
    if (other === undefined) return [];
    if (id !== undefined) return [`${id} is the id of each scene; ${other} is a column like any other`];
    return this.#rules.findsIds
      ? []
      : [`${other} is not the id here: the batch began with a version that knew only id, and keeps its ids`];
  }

  /** Returns problems of a batch without a manifest, in which `scenes` has to provide every column. */
  problemsWithoutManifest(): Problem[] {
    const { added } = this;
    if (this.inputOf([]) !== undefined)
      return missingColumns(this.#config, new Set(added), describeColumns('scenes', added, []));
    const text = `there is no manifest, and no list is called scene or prompt; set input${inputHint(added)}`;
    return [{ where: this.#config.placeOf(['scenes'], true), text }];
  }

  /** Returns problems with lists of `scenes` that have the name of a column in the manifest. */
  takenNames(path: string, columns: ReadonlySet<string>): Problem[] {
    return axesOf(this.#config)
      .filter((name) => columns.has(name))
      .map((name) => {
        const text = `${path} has a column ${JSON.stringify(name)} already; choose another name`;
        return { where: placeOfAxis(this.#config, name), text };
      });
  }

  /** Returns problems with lists that the input does not use: the same picture would be paid for once per value. */
  unusedAxes(input: InputTemplate): Problem[] {
    const spoken = new Set(input.columns.map(({ name }) => name));
    const names = axesOf(this.#config).filter((name) => !spoken.has(name));
    const whole = [
      ...input.columns.map(({ name, path }) => inputLine(String(path[1]), name)),
      ...names.map((name) => inputLine(name, name)),
    ];
    return names.map((name) => {
      const expected =
        this.#config.input === undefined
          ? `such as input: {${whole.join(', ')}}`
          : `such as ${inputLine(name, name)}`;
      const text = `input does not use ${placeholder(name)}, so all its results would be the same; use it under input, ${expected}`;
      return { where: placeOfAxis(this.#config, name), text };
    });
  }

  /** Throws `ConfigError` with all problems of a list. Invalid rows are accepted with `skipBadRows`. */
  assertGood({ list, columns, problems, notes }: ListContents): void {
    const config = this.#config;
    const unknown = problems.length === 0 ? this.#unknown(columns) : [];
    if (unknown.length > 0) throw new ConfigError(unknown);
    const bad = config.skipBadRows ? [] : [...badRowProblems(list)];
    if (problems.length + bad.length > 0) throw new ConfigError([...problems, ...bad]);
    if (list.count().scenes > 0) return;
    const files = config.manifest.map((path) => (path === '-' ? 'standard input' : shownFile(path)));
    const where = files.length > 0 ? files.join(', ') : config.placeOf(['scenes'], true);
    const why = config.stage === undefined ? ['it has no scene to render'] : [noPicture, ...notes];
    throw new ConfigError([{ where, text: why.join('; ') }]);
  }

  /** Checks columns after the last row, because JSON Lines show them only then. */
  #unknown(columns: ReadonlySet<string>): Problem[] {
    const config = this.#config;
    if (columns.size === 0 && config.manifest.length > 0) return [];
    const all = new Set([...columns, ...this.added]);
    const found = describeColumns('the manifest', [...columns], this.added);
    return [...undeclared(config, all), ...missingColumns(config, new Set([...all, ...this.free]), found)];
  }
}

interface ListContents {
  list: CheckedList;
  columns: ReadonlySet<string>;
  /** Problems other than invalid rows. */
  problems: Problem[];
  notes: string[];
}

/** Returns the columns that `scenes` adds to each row: the axes, and the number of the seed if `scenes.seeds` is set. */
export function addedColumns(config: Config): string[] {
  return [...axesOf(config), ...(config.scenes?.seeds ? [seedNumberColumn] : [])];
}

/** Returns the columns that `scenes` adds. */
function axesOf({ scenes }: Config): string[] {
  return scenes === undefined ? [] : axisNames(scenes);
}

function raise(text: string): never {
  throw new Error(text);
}

function columnsOfName(template: Template | undefined): string[] {
  return template?.names.filter((name) => !nameValues.includes(name)) ?? [];
}

const noPicture = 'none of the results of that batch is chosen';

/** True for a prompt or a number, which is not the name of a column. */
export function isValue(name: string): boolean {
  return isSentence(name) || /^-?\d+(?:[.,]\d+)?$/.test(name);
}

/** True if the text has more than three words, so it is a prompt and not the name of a column. */
function isSentence(name: string): boolean {
  return name.split(/\s+/).length > 3;
}

function noHeader(row: string[]): string {
  const prompt = row.indexOf(row.toSorted((a, b) => b.length - a.length)[0] ?? '');
  const names = row.map((_, at) => (at === prompt ? 'prompt' : at === 0 ? 'id' : `column${at + 1}`));
  return `the first row seems to be a scene, not the names of the columns. Say what they are called, such as \`nightrender plan <pipeline> --columns ${names.join()}\`, or header: [${names.join(', ')}] in pipeline.yaml; or add a row of names above it, or remove the rows above the names`;
}

const commentAsHeader = `the first line begins with "# " and is read as the header; comments: '#' in pipeline.yaml leaves such lines out`;

export function inputLine(key: string, column: string): string {
  return `${/^\w+$/.test(key) ? key : JSON.stringify(key)}: '${quoted(placeholder(column))}'`;
}

function inputHint(columns: string[]): string {
  const column = likelyColumn(columns);
  return column === undefined ? ', under input' : `, such as input: { ${inputLine('prompt', column)} }`;
}

/** Returns the column called caption, text or description, the first of these. Undefined if there is none, if scene or prompt exists, or if the header is a row of values. */
export function captionColumn(columns: string[]): string | undefined {
  if (columns.some(isSentence) || defaultInput(columns) !== undefined) return undefined;
  return ['caption', 'text', 'description'].flatMap((word) =>
    columns.filter((name) => name.toLowerCase() === word),
  )[0];
}

/** Returns the column that most likely has the prompts. An id is no text to render. */
export function likelyColumn(columns: string[]): string | undefined {
  return captionColumn(columns) ?? columns.find((name) => !['id', 'seed'].includes(name.toLowerCase()));
}

/** Doubles quotation marks, for use within single quotes of YAML. */
function quoted(text: string): string {
  return text.replaceAll("'", "''");
}

export function placeholder(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `{{ ${name} }}` : `{{ [${JSON.stringify(name)}] }}`;
}

function describeColumns(path: string, columns: string[], axes: string[]): string {
  return `${path} has ${listed(columns)}${axes.length === 0 ? '' : `; scenes adds ${listed(axes)}`}`;
}

/** Returns problems at the templates that use a column which does not exist. */
function missingColumns(config: Config, columns: ReadonlySet<string>, found: string): Problem[] {
  const wanted = [
    ...(config.input?.columns ?? []),
    ...columnsOfName(config.output.name).map((name) => ({ name, path: ['output', 'name'] })),
  ];
  const hintAt = (name: string): string => {
    const word = closest(name, columns);
    return word === undefined ? found : `did you mean ${JSON.stringify(word)}?`;
  };
  return wanted
    .filter(({ name }) => !columns.has(name))
    .map(({ name, path }) => ({
      where: config.placeOf(path),
      text: `there is no column ${JSON.stringify(name)}; ${hintAt(name)}`,
    }));
}

function placeOfAxis({ scenes, placeOf }: Config, name: string): string {
  const isIn = (axes: NamedAxis[] = []): boolean => axes.some((axis) => axis.name === name);
  if (isIn(scenes?.matrix)) return placeOf(['scenes', 'matrix', name], true);
  return placeOf(isIn(scenes?.zip) ? ['scenes', 'zip', name] : ['scenes', 'seeds'], true);
}

/** Returns problems at the declarations of columns that no manifest has. */
function undeclared({ columns, placeOf }: Config, there: ReadonlySet<string>): Problem[] {
  return [...columns.keys()]
    .filter((name) => !there.has(name))
    .map((name) => {
      const hint = didYouMean(name, there) ?? `there is ${listed([...there])}`;
      const text = `the manifest has no column ${JSON.stringify(name)}; ${hint}`;
      return { where: placeOf(['columns', name], true), text };
    });
}

const shownBadRows = 10;

function* badRowProblems(list: CheckedList): Generator<Problem> {
  let count = 0;
  for (const { source, problem } of list.badRows()) {
    if (count === shownBadRows) break;
    count += 1;
    yield { where: source, text: problem };
  }
  const more = list.count().badRows - shownBadRows;
  const text = more === 1 ? '1 more row is bad' : `${more.toLocaleString('en')} more rows are bad`;
  if (more > 0) yield { where: '', text, count: more };
}
