/** A field whose label, hint and text format come from a JSON Schema. */
import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { FieldSchema } from '../../protocol/console-data.ts';
import { isSame, typedAs } from './endpoint-draft.ts';
import { Coded, Option, TextField } from './field.tsx';

interface Props {
  /** Path of the key in the endpoint, with dots. */
  path: string;
  schema: FieldSchema;
  value: unknown;
  problem: string;
  label?: string;
  typed?: ReturnType<typeof typedAs>;
  onValue(value: unknown): void;
}

export function TypedField(props: Props): JSX.Element {
  const { path, schema, value, problem, typed = typedAs(schema), label = labelOf(path, schema) } = props;
  const show = (given: unknown): string => (given === undefined ? '' : typed.show(given));
  const [text, setText] = useState(show(value));
  if (schema.type === 'boolean') return <FlagField {...props} />;
  // Keep the text as typed, unless the value was changed elsewhere.
  const isTyped = isSame(typed.read(text.trim()), value);
  return (
    <TextField
      name={path}
      class={typed.rows === undefined ? '' : 'whole'}
      label={label}
      hint={<Coded text={`${sentence(schema.description)} ${typed.hint ?? ''}`} />}
      placeholder={show(schema.default ?? schema.examples?.[0])}
      inputMode={typed.inputMode ?? 'text'}
      rows={typed.rows ?? 1}
      isCode
      problem={problem}
      value={isTyped ? text : show(value)}
      onText={(next) => {
        setText(next);
        props.onValue(typed.read(next.trim()));
      }}
    />
  );
}

function FlagField({ path, schema, value, problem, onValue }: Props): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <Option
        name={path}
        checked={value === true}
        aria-invalid={problem !== ''}
        aria-describedby={`${id}-hint ${id}-problem`}
        onCheck={onValue}
      >
        {labelOf(path, schema)}
      </Option>
      <p id={`${id}-hint`} class="hint">
        <Coded text={sentence(schema.description)} />
      </p>
      <p id={`${id}-problem`} class="problem">
        <Coded text={problem} />
      </p>
    </div>
  );
}

/** Label of a field: the schema's title, or `Max jobs` for `recycle.maxJobs`. */
export function labelOf(path: string, { title }: FieldSchema): string {
  const words = path.replace(/^.*\./, '').replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return title ?? capital(words);
}

export function sentence(description = ''): string {
  return `${capital(description)}.`;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
