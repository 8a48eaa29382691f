/** Search; filters and order on demand. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { GalleryColumn, GalleryData } from '../../runner/core/gallery-data.ts';
import { Select } from '../shared/choices.tsx';
import { countWords } from '../shared/number-words.ts';
import { Copyable } from '../shared/text.tsx';
import { listCommand } from './list-command.ts';
import {
  everything,
  isEverything,
  lostKinds,
  orders,
  type LostWords,
  type Order,
  type Query,
} from './query.ts';
import { RangeFilter } from './range-filter.tsx';

interface Props {
  data: GalleryData;
  query: Query;
  /** Whether the order is the reader's. */
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
  const command = listCommand(query, props.data);
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

function Filters({ data, query, isOrdered, onQuery }: Props): JSX.Element {
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

/** One value alone tells nothing apart. */
function isFilter({ choices, range }: GalleryColumn): boolean {
  if (range !== undefined) return range.least < range.most;
  return choices === null || choices.length > 1;
}

function StateFilter({ data, query, onQuery }: Omit<Props, 'isOrdered'>): JSX.Element {
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

/** Asks when the reader pauses: each answer may mean looking at a hundred thousand rows. */
function TextFilter({ label, value, onValue }: TextProps): JSX.Element {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onValue(text), 200);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label class="field">
      <bdi>{label}</bdi>
      <input
        type="search"
        value={text}
        placeholder={label}
        dir="auto"
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  );
}
