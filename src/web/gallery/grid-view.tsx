/** The grid view: pictures by the values of two columns, with steps through the values of two more. */
import type { JSX } from 'preact';
import { numberOf } from '../../runner/core/condition.ts';
import type { GalleryColumn, GalleryData, GalleryRow } from '../../runner/core/gallery-data.ts';
import { countWords } from '../shared/number-words.ts';
import { Found, matchingOf, Pages, type Scene, ScenePictures } from './pictures-view.tsx';
import type { Place } from './page-location.ts';
import { exactly, matcher, promptOf, type Query, textOf } from './query.ts';
import { OpenScene, type ViewProps } from './scene-dialog.tsx';
import { Choice } from './toolbar.tsx';
import { scanRows, type Selected, selectionOf, useSearch, type Watch } from './rows.ts';

export function GridView(props: ViewProps): JSX.Element {
  const axes = gridAxes(props.data);
  const chosen = chosenAxes(axes, props.place);
  if (chosen === undefined) return <></>;
  return (
    <section aria-label="Grid" class="stack">
      <AxisChoices {...props} axes={axes} chosen={chosen} />
      <Cells {...props} chosen={chosen} />
    </section>
  );
}

type ChoicesProps = ViewProps & { axes: Axis[]; chosen: ChosenAxes };

function AxisChoices({ go, axes, chosen: { down, across, steps } }: ChoicesProps): JSX.Element {
  const [x, y] = [across.name, down.name];
  const [first = '', second = ''] = steps.map(({ name }) => name);
  const but = (...others: string[]): [string, string][] =>
    axes.flatMap(({ name, count }) =>
      others.includes(name) ? [] : [[name, count === undefined ? name : `${name} (${count})`]],
    );
  const stepBy = (...names: string[]): void => go({ steps: names.filter((name) => name !== '') });
  const none: [string, string] = ['', 'nothing'];
  const stepOptions = [none, ...but(x, y, second)];
  return (
    <div class="row axes">
      <Choice label="Rows" options={but(x)} chosen={y} onChoose={(name) => go({ down: name, across: x })} />
      <Choice
        label="Columns"
        options={but(y)}
        chosen={x}
        onChoose={(name) => go({ across: name, down: y })}
      />
      <button type="button" onClick={() => go({ down: x, across: y })}>
        Swap
      </button>
      {stepOptions.length > 1 && (
        <Choice
          label="Step through"
          options={stepOptions}
          chosen={first}
          onChoose={(name) => stepBy(name, second)}
        />
      )}
      {first !== '' && but(x, y, first).length > 0 && (
        <Choice
          label="and"
          options={[none, ...but(x, y, first)]}
          chosen={second}
          onChoose={(name) => stepBy(first, name)}
        />
      )}
    </div>
  );
}

function Cells(props: ViewProps & { chosen: ChosenAxes }): JSX.Element {
  const { place, go, chosen } = props;
  const { grid, ...selected } = useGrid(props, chosen);
  const turn = (axis: number, page: number): void =>
    go({ at: Object.assign([1, 1, ...chosen.steps.map(() => 1)], place.at, { [axis]: page }) });
  return (
    <>
      <Found {...selected} {...props} />
      {grid !== undefined && <Turners values={grid.values} onTurn={turn} />}
      {grid !== undefined && <Table {...props} grid={grid} />}
      <OpenScene {...props} order={selected.selection && selectionOf(orderOf(grid))} />
    </>
  );
}

interface TurnersProps {
  values: Values[];
  onTurn(axis: number, page: number): void;
}

/** Buttons to turn pages of rows and columns, and to step through values. */
function Turners({ values, onTurn }: TurnersProps): JSX.Element {
  return (
    <div class="row">
      {values.map(({ axis: { name }, isStep, shown: [value], page, pages }, i) =>
        !isStep && pages === 1 ? null : (
          <div key={name} class="row step">
            <bdi>{name}</bdi>
            {isStep && <strong title={value}>{nameOf(name, value)}</strong>}
            <Pages
              isSmall
              name={`${name}, ${isStep ? 'step' : 'page'}`}
              page={page}
              pages={pages}
              onPage={(next) => onTurn(i, next)}
            />
          </div>
        ),
      )}
    </div>
  );
}

function Table(props: ViewProps & { grid: Grid }): JSX.Element {
  const [down, across] = props.grid.values;
  return (
    <div class="cells" tabIndex={0} role="region" aria-label={`${down?.axis.name} by ${across?.axis.name}`}>
      <table>
        <thead>
          <tr>
            <td />
            {across?.shown.map((x) => (
              <th key={x} scope="col">
                <bdi title={x}>{nameOf(across.axis.name, x)}</bdi>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {down?.shown.map((y) => (
            <tr key={y}>
              <th scope="row">
                <bdi title={y}>{nameOf(down.axis.name, y)}</bdi>
              </th>
              {across?.shown.map((x) => (
                <td key={x}>
                  <CellContent {...props} y={y} x={x} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CellContent({
  grid,
  y,
  x,
  ...props
}: ViewProps & { grid: Grid; y: string; x: string }): JSX.Element {
  const { count, shown, why } = grid.at(y, x);
  if (count === 0) return <small class="soft">{why}</small>;
  const { data, place, go } = props;
  const of = [y, x, ...grid.values.slice(2).map((step) => step.shown[0] ?? '')];
  const wanted = grid.values.map(({ axis: { column = -1 } }, i) => [
    column,
    exactly(of[i] ?? '', data.columns[column]),
  ]);
  const isSaid = wanted.every(([column, value]) => column !== -1 && value !== undefined);
  const list = (): void => {
    const columns = { ...place.query.columns, ...(Object.fromEntries(wanted) as Query['columns']) };
    go({ view: 'pictures', query: { ...place.query, columns }, page: 1 });
  };
  return (
    <>
      <ScenePictures {...props} isSmall shown={shown} />
      {count > shown.length && (
        <button type="button" class="small" disabled={!isSaid} onClick={list}>
          all {countWords(count)}
        </button>
      )}
    </>
  );
}

/** Returns the indexes of the shown scenes, row by row. */
function orderOf(grid: Grid | undefined): number[] {
  const [down, across] = grid?.values ?? [];
  return (down?.shown ?? []).flatMap((y) =>
    (across?.shown ?? []).flatMap((x) => grid?.at(y, x).shown.map(({ index }) => index) ?? []),
  );
}

function nameOf(axis: string, value = ''): string {
  if (value === '') return 'none';
  return axis === 'seed_number' || axis === seedsByNumber ? `seed ${value}` : value;
}

interface Cell {
  count: number;
  shown: Scene[];
  /** Reason why the cell is empty. */
  why: string;
}

/** Values of an axis, and those that are shown: a page of them, or a single one. */
interface Values {
  axis: Axis;
  /** True if one value is shown at a time. */
  isStep: boolean;
  shown: string[];
  page: number;
  pages: number;
}

interface Grid {
  /** Values of the rows, the columns, and then the steps. */
  values: Values[];
  at(down: string, across: string): Cell;
  /** Number of scenes on all pages and steps. */
  count: number;
}

/** Maximum number of pictures in a grid: more buttons make the page slow. */
const maxPictures = 2000;

/** Maximum number of rows, and of columns, on a page. */
const pageSize = 50;

/** Scans all rows, because any may belong to any cell. Shows the previous grid meanwhile. */
function useGrid(props: ViewProps, chosen: ChosenAxes): Selected & { grid: Grid | undefined } {
  const { rows, place } = props;
  const axes = [chosen.down, chosen.across, ...chosen.steps];
  const matches = matcher(place.query, matchingOf(props));
  const search = async (watch: Watch): Promise<Grid | undefined> => {
    // All values in the order of all rows; true for values of rows that match.
    const seen = axes.map(() => new Map<string, boolean>());
    let count = 0;
    const note = (row: GalleryRow, of: string[]): void => {
      const isWanted = matches(row);
      if (isWanted) count += 1;
      // A row that could not be read belongs to no cell.
      if (row.values === undefined) return;
      for (const [i, value] of of.entries())
        if (isWanted || !seen[i]?.has(value)) seen[i]?.set(value, isWanted);
    };
    if (!(await scanAxes(axes, props, watch, note))) return undefined;
    const values = axes.map((axis, i) => {
      const wanted = [...(seen[i] ?? [])].flatMap(([value, isWanted]) => (isWanted ? [value] : []));
      return pageOf(axis, i > 1, wanted, place.at[i] ?? 1);
    });
    const cells = new FoundCells(values, matches);
    const quiet = { ...watch, onPart: () => undefined };
    if (!(await scanAxes(axes, props, quiet, (row, of, index) => cells.add(row, of, index))))
      return undefined;
    return { values, at: (down, across) => cells.at(down, across), count };
  };
  const asked = JSON.stringify([place.query, axes.map(({ name }) => name), place.at]);
  const { found, isLatest, ...rest } = useSearch(rows, asked, search);
  const selection = { count: found?.count ?? 0, at: () => undefined, positionOf: () => -1 };
  return { grid: found, selection: isLatest ? selection : undefined, ...rest };
}

type Visit = (row: GalleryRow, of: string[], index: number) => void;

/** Visits all rows. `of`: the row's value on each axis. */
function scanAxes(axes: Axis[], { rows }: ViewProps, watch: Watch, visit: Visit): Promise<boolean> {
  const readers = axes.map((axis) => axis.reader());
  const read = (row: GalleryRow, index: number): void =>
    visit(
      row,
      readers.map((of) => of(row)),
      index,
    );
  return scanRows(rows, () => true, read, watch);
}

function pageOf(axis: Axis, isStep: boolean, all: string[], wanted: number): Values {
  const size = isStep ? 1 : pageSize;
  const values = inOrder(all);
  const pages = Math.max(1, Math.ceil(values.length / size));
  const page = Math.min(wanted, pages);
  return { axis, isStep, shown: values.slice((page - 1) * size, page * size), page, pages };
}

class FoundCells {
  readonly #cells = new Map<string, Cell>();
  readonly #shown: Set<string>[];
  readonly #most: number;
  readonly #matches: (row: GalleryRow) => boolean;

  constructor(values: Values[], matches: (row: GalleryRow) => boolean) {
    this.#shown = values.map(({ shown }) => new Set(shown));
    const [down = 1, across = 1] = values.map(({ shown }) => shown.length);
    this.#most = Math.max(1, Math.min(9, Math.floor(maxPictures / (down * across))));
    this.#matches = matches;
  }

  add(row: GalleryRow, of: string[], index: number): void {
    if (row.values === undefined || !this.#shown.every((shown, i) => shown.has(of[i] ?? ''))) return;
    const key = keyOf(of);
    const cell = this.#cells.get(key) ?? { count: 0, shown: [], why: 'not selected' };
    this.#cells.set(key, cell);
    if (!this.#matches(row)) {
      if (row.state === 'unneeded') cell.why = 'not needed';
      return;
    }
    cell.count += 1;
    if (cell.shown.length < this.#most) cell.shown.push({ row, index });
  }

  at(down: string, across: string): Cell {
    return this.#cells.get(keyOf([down, across])) ?? { count: 0, shown: [], why: 'no such scene' };
  }
}

function keyOf([down, across]: string[]): string {
  return JSON.stringify([down, across]);
}

/** An axis of a grid: a column with several values, or seeds by number. */
interface Axis {
  name: string;
  /** Index of the column; undefined for seeds by number. */
  column?: number;
  /** Number of values; undefined if it is unknown without reading the rows. */
  count?: number;
  /** True if the column has too many values to list. */
  isLong: boolean;
  /** Returns a function that reads the value of a row. It must be called for all rows in order. */
  reader(): (row: GalleryRow) => string;
}

/** Returns axes added by `scenes` of pipeline.yaml first, then those with few values. */
export function gridAxes({ columns, axes }: GalleryData): Axis[] {
  const isNumbered = columns.some(({ name }) => name === 'seed_number');
  // Rows have different seeds, so the grid compares them by number.
  const added = new Set(axes.map((name) => (name === 'seed' && isNumbered ? 'seed_number' : name)));
  const rank = ({ name, isLong }: Axis): number => (added.has(name) ? 0 : isLong ? 2 : 1);
  return columns
    .flatMap((column, index) => axesOf(column, index, isNumbered))
    .toSorted((a, b) => rank(a) - rank(b));
}

interface ChosenAxes {
  down: Axis;
  across: Axis;
  steps: Axis[];
}

/** Columns that hold a prompt, by which people know their pictures. */
const promptNames = /^(prompt|scene|text|positive_prompt)$/i;

/** Returns the axes of the place, or default ones: prompts as rows, else most values. Undefined if less than two. */
function chosenAxes(axes: Axis[], { down, across, steps }: Place): ChosenAxes | undefined {
  const [one, two] = axes;
  const prompt = axes.find(({ name }) => promptNames.test(name));
  const longer = two?.isLong && !one?.isLong ? two : one;
  const usual = [prompt ?? longer ?? [], axes].flat();
  const pick = (wanted: string, others: (string | undefined)[]): Axis | undefined =>
    axes.find(({ name }) => name === wanted && !others.includes(name)) ??
    usual.find(({ name }) => !others.includes(name));
  const first = pick(down, [across]);
  const second = pick(across, [first?.name]);
  if (first === undefined || second === undefined) return undefined;
  const stepped = axes.filter((axis) => axis !== first && axis !== second && steps.includes(axis.name));
  return {
    down: first,
    across: second,
    steps: stepped.toSorted((a, b) => steps.indexOf(a.name) - steps.indexOf(b.name)),
  };
}

/** Sorts numbers by value and keeps texts in their order. Empty values come last. */
function inOrder(values: string[]): string[] {
  const all = values.toSorted((a, b) => Number(a === '') - Number(b === ''));
  const areNumbers = all.every((text) => text === '' || numberOf(text) !== undefined);
  return areNumbers ? all.toSorted((a, b) => (numberOf(a) ?? Infinity) - (numberOf(b) ?? Infinity)) : all;
}

const seedsByNumber = 'seed, by number';

function axesOf(
  { name, choices, isShared, isValue, range }: GalleryColumn,
  index: number,
  isNumbered: boolean,
): Axis[] {
  if (name === 'id' || (isValue && range)) return [];
  const read = (row: GalleryRow): string => textOf(row.values?.[index]);
  if (name === 'seed' && choices === null)
    return isNumbered ? [] : [{ name: seedsByNumber, isLong: false, reader: () => numbering(read) }];
  if (choices === null ? !isShared : choices.length < 2) return [];
  const axis = { name, column: index, isLong: choices === null, reader: () => read };
  return [{ ...axis, ...(choices && { count: choices.length }) }];
}

/** Numbers the seeds of each prompt from 1, in order of appearance. */
function numbering(seedOf: (row: GalleryRow) => string): (row: GalleryRow) => string {
  const byPrompt = new Map<string, Map<string, number>>();
  return (row) => {
    const seed = seedOf(row);
    if (seed === '') return '';
    const numbers = byPrompt.get(promptOf(row)) ?? new Map<string, number>();
    const number = numbers.get(seed) ?? numbers.size + 1;
    byPrompt.set(promptOf(row), numbers.set(seed, number));
    return String(number);
  };
}
