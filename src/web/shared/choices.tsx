/** A choice between a few options, as buttons or as a `<select>`, and a field for a number. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

interface Props<T> {
  options: readonly (readonly [T, string])[];
  chosen: T;
  onChoose(option: T): void;
}

export function Choices<T>({ label, options, chosen, onChoose }: Props<T> & { label: string }): JSX.Element {
  return (
    <div class="row" role="group" aria-label={label}>
      {options.map(([option, words]) => (
        <button
          key={option}
          type="button"
          class="small"
          aria-pressed={option === chosen}
          onClick={() => onChoose(option)}
        >
          {words}
        </button>
      ))}
    </div>
  );
}

export function Select<T extends string>({
  options,
  chosen,
  onChoose,
  attributes = {},
}: Props<T> & { attributes?: object }): JSX.Element {
  return (
    <select {...attributes} value={chosen} onChange={(event) => onChoose(event.currentTarget.value as T)}>
      {options.map(([option, words]) => (
        <option key={option} value={option}>
          {words}
        </option>
      ))}
    </select>
  );
}

interface NumberProps {
  value: string;
  min: number | string;
  max?: number;
  step?: number;
  placeholder?: string;
  'aria-label'?: string;
  onText(text: string): void;
}

/** A field for a number. Calls `onText` when the reader leaves the field, presses Enter or steps the number. */
export function NumberInput({ value, onText, ...attributes }: NumberProps): JSX.Element {
  // The page may be rendered again while the reader types, which must not bring the earlier value back.
  const [typed, setTyped] = useState<string>();
  return (
    <input
      {...attributes}
      type="number"
      value={typed ?? value}
      onInput={(event) => setTyped(event.currentTarget.value)}
      onChange={(event) => {
        setTyped(undefined);
        onText(event.currentTarget.value);
      }}
      onBlur={() => setTyped(undefined)}
    />
  );
}
