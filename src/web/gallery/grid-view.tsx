/** Pictures by the values of two columns. */
import type { JSX } from 'preact';
import type { GalleryColumn, GalleryData, GalleryRow } from '../../runner/core/gallery-data.ts';
import { countWords } from '../shared/number-words.ts';
import { Found, matchingOf, ScenePictures, type Scene } from './pictures-view.tsx';
import { matcher, textOf, type Query } from './query.ts';
import { OpenScene, type ViewProps } from './scene-dialog.tsx';
import { Choice } from './toolbar.tsx';
import { scanRows, those, useSearch, type Selected, type Watch } from './use-selection.ts';

interface Axis {
  /** The number of the column. */
  index: number;
  name: string;
  values: string[];
}

export function GridView(props: ViewProps): JSX.Element {
  const { data, place, go } = props;
  const axes = gridAxes(data);
  const down = axes.find(({ name }) => name === place.down) ?? axes[0];
  const across =
    axes.find((axis) => axis.name === place.across && axis !== down) ?? axes.find((axis) => axis !== down);
  if (down === undefined || across === undefined) return <></>;
  const options = (other: Axis): [string, string][] =>
    axes.flatMap(({ name, values }) => (name === other.name ? [] : [[name, `${name} (${values.length})`]]));
  return (
    <section aria-label="Grid" class="stack">
      <div class="row axes">
        <Choice
          label="Rows"
          options={options(across)}
          chosen={down.name}
          onChoose={(name) => go({ down: name, across: across.name })}
        />
        <Choice
          label="Columns"
          options={options(down)}
          chosen={across.name}
          onChoose={(name) => go({ across: name, down: down.name })}
        />
        <button type="button" onClick={() => go({ down: across.name, across: down.name })}>
          Swap
        </button>
      </div>
      <Cells {...props} down={down} across={across} />
    </section>
  );
}

/** The columns that may be axes; first those that `scenes` of pipeline.yaml adds. */
export function gridAxes({ columns, axes }: GalleryData): Axis[] {
  const isAdded = ({ name }: Axis): number => Number(axes.includes(name));
  return columns.flatMap(axisOf).toSorted((a, b) => isAdded(b) - isAdded(a));
}

function axisOf({ name, choices }: GalleryColumn, index: number): Axis[] {
  if (choices === null || choices.length < 2) return [];
  return [{ index, name, values: choices.map(([text]) => text) }];
}

interface Cell {
  count: number;
  shown: Scene[];
}

type CellsProps = ViewProps & { down: Axis; across: Axis };

function Cells(props: CellsProps): JSX.Element {
  const { rows, place, go, down, across } = props;
  const { cells, ...selected } = useCells(props);
  const at = (y: string, x: string): Cell => cells.get(keyOf(y, x)) ?? { count: 0, shown: [] };
  const order = down.values.flatMap((y) =>
    across.values.flatMap((x) => at(y, x).shown.map(({ index }) => index)),
  );
  const list = (y: string, x: string): void => {
    const columns: Query['columns'] = { ...place.query.columns, [down.index]: y, [across.index]: x };
    go({ view: 'pictures', query: { ...place.query, columns }, page: 1 });
  };
  return (
    <>
      <Found {...selected} data={props.data} rows={rows} />
      <div class="cells" tabIndex={0} role="region" aria-label={`${down.name} by ${across.name}`}>
        <table>
          <thead>
            <tr>
              <td />
              {across.values.map((x) => (
                <th key={x} scope="col">
                  <bdi>{x}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {down.values.map((y) => (
              <tr key={y}>
                <th scope="row">
                  <bdi>{y}</bdi>
                </th>
                {across.values.map((x) => (
                  <td key={x}>
                    <ScenePictures {...props} isSmall shown={at(y, x).shown} />
                    {at(y, x).count > at(y, x).shown.length && (
                      <button type="button" class="small" onClick={() => list(y, x)}>
                        all {countWords(at(y, x).count)}
                      </button>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <OpenScene {...props} order={selected.selection && those(order)} />
    </>
  );
}

/** Pictures of a whole grid: so many buttons a page bears well. */
const mostPictures = 2000;

/** Scans all rows, since any may belong to any cell. */
function useCells(props: CellsProps): Selected & { cells: Map<string, Cell> } {
  const { rows, place, down, across } = props;
  const matches = matcher(place.query, matchingOf(props));
  const perCell = Math.floor(mostPictures / (down.values.length * across.values.length));
  const search = async (watch: Watch): Promise<{ cells: Map<string, Cell>; count: number } | undefined> => {
    const cells = new Map<string, Cell>();
    let count = 0;
    const visit = (row: GalleryRow, index: number): void => {
      const key = keyOf(textOf(row.values?.[down.index]), textOf(row.values?.[across.index]));
      const cell = cells.get(key) ?? { count: 0, shown: [] };
      cell.count += 1;
      if (cell.shown.length < Math.max(1, Math.min(9, perCell))) cell.shown.push({ row, index });
      cells.set(key, cell);
      count += 1;
    };
    return (await scanRows(rows, matches, visit, watch)) ? { cells, count } : undefined;
  };
  const asked = JSON.stringify([place.query, down.index, across.index]);
  const { found, isLatest, ...rest } = useSearch(rows, asked, search);
  const selection = { count: found?.count ?? 0, at: () => undefined, positionOf: () => -1 };
  return { cells: found?.cells ?? new Map(), selection: isLatest ? selection : undefined, ...rest };
}

function keyOf(y: string, x: string): string {
  return JSON.stringify([y, x]);
}
