/** A choice between a few options, as buttons or as a `<select>`. */
import type { JSX } from 'preact';

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
