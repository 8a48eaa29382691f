/** The search field, with filters and order in a panel that opens on demand. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import {
  type GalleryColumn,
  type GalleryData,
  type GalleryRange,
  type Mark,
  markNames,
} from '../../runner/core/gallery-data.ts';
import { NumberInput, Select } from '../shared/choices.tsx';
import { useTypedText } from '../shared/hooks.ts';
import { countWords, counted } from '../shared/number-words.ts';
import { Copyable } from '../shared/text.tsx';
import {
  boundsOf,
  everything,
  fewDigits,
  isEverything,
  listCommand,
  lostKinds,
  type LostWords,
  marks,
  type Order,
  orders,
  type Query,
} from './query.ts';

interface Props {
  data: GalleryData;
  query: Query;
  /** True if commands find the marks with the batch. */
  areMarksKept: boolean;
  /** True if the reader can choose the order. */
  isOrdered: boolean;
  onQuery(query: Query): void;
}

export function Toolbar({ children, ...props }: Props & { children: ComponentChildren }): JSX.Element {
  const { query, onQuery } = props;
  const [isOpen, setOpen] = useState(false);
  const toolbar = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const onPress = ({ target }: Event): void => {
      if (target instanceof Node && toolbar.current?.contains(target) !== true) setOpen(false);
    };
    document.addEventListener('pointerdown', onPress);
    return () => document.removeEventListener('pointerdown', onPress);
  }, [isOpen]);
  const command = listCommand(query, props.data, props.areMarksKept);
  return (
    <search ref={toolbar} class="row toolbar" onKeyDown={({ key }) => key === 'Escape' && setOpen(false)}>
      <TextFilter
        label="Search prompts and columns"
        value={query.text}
        onValue={(text) => onQuery({ ...query, text })}
      />
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Filter
      </button>
      {children}
      {!isEverything(query) && (
        <button type="button" onClick={() => onQuery(everything)}>
          Show everything
        </button>
      )}
      {isOpen && (
        <div class="panel card">
          <Filters {...props} />
          {command !== undefined && (
            <Copyable label="These scenes in a terminal, in the folder of the list" text={command} />
          )}
        </div>
      )}
    </search>
  );
}

function Filters({ data, query, isOrdered, onQuery }: Omit<Props, 'areMarksKept'>): JSX.Element {
  const columns = data.columns.flatMap((column, index) => (isFilter(column) ? [{ column, index }] : []));
  return (
    <div class="row filters">
      <StateFilter data={data} query={query} onQuery={onQuery} />
      {isOrdered && (
        <Choice
          label="Order"
          options={[...(Object.entries(orders) as [Order, string][]), ...data.columns.flatMap(ordersBy)]}
          chosen={query.order}
          onChoose={(order) => onQuery({ ...query, order })}
        />
      )}
      <Choice
        label="Mark"
        options={[['', 'any'], ...markNames.map((mark): [Mark, string] => [mark, marks[mark].word])]}
        chosen={query.mark}
        onChoose={(mark) => onQuery({ ...query, mark })}
      />
      {data.pictures.labelled !== undefined && (
        <Choice
          label="Words"
          options={[['', 'any'], ...(Object.entries(lostKinds) as [LostWords, string][])]}
          chosen={query.lost}
          onChoose={(lost) => onQuery({ ...query, lost })}
        />
      )}
      {columns.map(({ column, index }) => (
        <ColumnFilter
          key={index}
          {...column}
          value={query.columns[index] ?? ''}
          onValue={(value) => onQuery({ ...query, columns: { ...query.columns, [index]: value } })}
        />
      ))}
    </div>
  );
}

function ordersBy({ name, range }: GalleryColumn, index: number): [Order, string][] {
  if (range === undefined) return [];
  return [
    [`down:${index}`, `by ${name}, highest first`],
    [`up:${index}`, `by ${name}, lowest first`],
  ];
}

interface ChoiceProps<T> {
  label: string;
  options: [T, string][];
  chosen: T;
  onChoose(option: T): void;
}

export function Choice<T extends string>({ label, ...rest }: ChoiceProps<T>): JSX.Element {
  return (
    <label class="field short">
      <bdi>{label}</bdi>
      <Select {...rest} />
    </label>
  );
}

/** True if the column has several values to filter by. */
function isFilter({ choices, range }: GalleryColumn): boolean {
  if (range !== undefined) return range.least < range.most;
  return choices === null || choices.length > 1;
}

function StateFilter({ data, query, onQuery }: Pick<Props, 'data' | 'query' | 'onQuery'>): JSX.Element {
  const value = query.kind === '' ? `state:${query.state}` : `kind:${query.kind}`;
  const choose = (chosen: string): void => {
    const colon = chosen.indexOf(':');
    const [what, name] = [chosen.slice(0, colon), chosen.slice(colon + 1)];
    onQuery({ ...query, state: what === 'state' ? name : '', kind: what === 'kind' ? name : '' });
  };
  const states = Object.entries(data.scenes).filter(([, count]) => count > 0);
  const options: [string, string][] = [
    ['state:', 'any'],
    ...states.map(([state, count]): [string, string] => [
      `state:${state}`,
      `${state} (${countWords(count)})`,
    ]),
    ...data.failures.map(({ kind, scenes }): [string, string] => [
      `kind:${kind}`,
      `${kind} (${countWords(scenes)})`,
    ]),
  ];
  return <Choice label="State" options={options} chosen={value} onChoose={choose} />;
}

interface TextProps {
  label: string;
  value: string;
  onValue(value: string): void;
}

type ColumnProps = GalleryColumn & Omit<TextProps, 'label'>;

function ColumnFilter({ name, choices, range, value, onValue }: ColumnProps): JSX.Element {
  if (range !== undefined) return <RangeFilter name={name} range={range} value={value} onValue={onValue} />;
  if (choices === null) return <TextFilter label={name} value={value} onValue={onValue} />;
  const options = choices.map(([text, rows]): [string, string] => [text, `${text} (${countWords(rows)})`]);
  return <Choice label={name} options={[['', 'any'], ...options]} chosen={value} onChoose={onValue} />;
}

/** Searches when the reader stops typing, because a search may read a hundred thousand rows. */
function TextFilter({ label, value, onValue }: TextProps): JSX.Element {
  const [text, type] = useTypedText(value, 200, onValue);
  return (
    <label class="field">
      <bdi>{label}</bdi>
      <input
        type="search"
        value={text}
        placeholder={label}
        dir="auto"
        onInput={(event) => type(event.currentTarget.value)}
      />
    </label>
  );
}

interface RangeProps {
  name: string;
  range: GalleryRange;
  /** Range such as `0.6..0.9`; a missing bound is empty. */
  value: string;
  onValue(value: string): void;
}

/** Filters by numbers, with a histogram of the scenes and two bounds. */
function RangeFilter({ name, range, value, onValue }: RangeProps): JSX.Element {
  const { least, most } = boundsOf(value);
  const bound = (words: string, at: number, now: string, next: (text: string) => string): JSX.Element => (
    <NumberInput
      // Arrow keys move the bound by one bar of the histogram.
      step={range.width}
      min={range.from}
      aria-label={`${name}, ${words}`}
      placeholder={fewDigits(at)}
      value={now}
      onText={(text) => {
        const bounds = next(text);
        onValue(bounds === '..' ? '' : bounds);
      }}
    />
  );
  return (
    <div class="field short" role="group" aria-label={name}>
      <bdi>{name}</bdi>
      <Histogram name={name} range={range} least={least} most={most} />
      <div class="range">
        {bound('at least', range.least, least, (text) => `${text}..${most}`)}–
        {bound('at most', range.most, most, (text) => `${least}..${text}`)}
      </div>
    </div>
  );
}

/** Height of the drawing, which is stretched to the available space. */
const height = 40;

type HistogramProps = Pick<RangeProps, 'name' | 'range'> & { least: string; most: string };

/** Bars outside of the bounds are pale. */
function Histogram({ name, range, least, most }: HistogramProps): JSX.Element {
  const { from, width, bins } = range;
  const top = Math.max(...bins);
  const startOf = (bin: number): number => from + bin * width;
  const isWithin = (bin: number): boolean =>
    (least === '' || startOf(bin + 1) > Number(least)) && (most === '' || startOf(bin) <= Number(most));
  const label = `${name} from ${fewDigits(range.least)} to ${fewDigits(range.most)}, most often about ${fewDigits(startOf(bins.indexOf(top) + 0.5))}`;
  return (
    <svg
      class="histogram"
      viewBox={`0 0 ${bins.length} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {bins.map((count, bin) => {
        // Bars other than 0 stay visible, however small they are.
        const tall = count === 0 ? 0 : Math.max(2, (count * height) / top);
        return (
          <g key={bin}>
            <title>{`${fewDigits(startOf(bin))} to ${fewDigits(startOf(bin + 1))}: ${counted(count, 'scene')}`}</title>
            <rect
              class={isWithin(bin) ? 'bar' : 'bar out'}
              x={bin}
              width="0.85"
              y={height - tall}
              height={tall}
            />
          </g>
        );
      })}
    </svg>
  );
}
