/** Form fields, each with a label, a hint and its problem. */
import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { FieldSchema } from '../../protocol/console-data.ts';

interface FieldAttributes {
  id: string;
  'aria-invalid': boolean;
  'aria-describedby': string;
}

interface Props {
  label: string;
  hint?: ComponentChildren;
  /** Empty if the value is valid. */
  problem: string;
  class?: string;
  /** True if screen readers announce the problem at once. */
  isAlert?: boolean;
  children(attributes: FieldAttributes): ComponentChildren;
}

export function Field({
  label,
  hint,
  problem,
  class: name = '',
  isAlert = false,
  children,
}: Props): JSX.Element {
  const id = useId();
  return (
    <div class={`field ${name}`}>
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-invalid': problem !== '',
        'aria-describedby': `${hint === undefined ? '' : `${id}-hint `}${id}-problem`,
      })}
      {hint !== undefined && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
      <p id={`${id}-problem`} class="problem" role={isAlert ? 'alert' : undefined}>
        <Coded text={problem} />
      </p>
    </div>
  );
}

/** Text in which backticks enclose code. */
export function Coded({ text }: { text: string }): JSX.Element {
  return <>{text.split('`').map((part, i) => (i % 2 === 0 ? part : <code key={i}>{part}</code>))}</>;
}

interface TextProps extends Omit<Props, 'children'> {
  name?: string | undefined;
  value: string;
  inputMode?: 'numeric' | 'decimal' | 'text';
  /** Example, or the default that is used if nothing is typed. */
  placeholder?: string | undefined;
  /** Number of lines. Default: 1. */
  rows?: number;
  isCode?: boolean;
  onText(value: string): void;
}

export function TextField(props: TextProps): JSX.Element {
  const { name, value, inputMode = 'text', placeholder, rows = 1, isCode = false, onText, ...field } = props;
  const typed = {
    name,
    value,
    placeholder,
    spellcheck: rows > 1 && !isCode,
    onInput: (event: { currentTarget: { value: string } }) => onText(event.currentTarget.value),
  };
  return (
    <Field {...field}>
      {(attributes) =>
        rows > 1 ? (
          <textarea {...attributes} {...typed} class={isCode ? 'code' : ''} rows={rows} dir="auto" />
        ) : (
          <input {...attributes} {...typed} type="text" dir="auto" autocomplete="off" inputMode={inputMode} />
        )
      }
    </Field>
  );
}

interface OptionProps {
  disabled?: boolean;
  type?: 'checkbox' | 'radio';
  name?: string;
  class?: string;
  checked: boolean;
  'aria-invalid'?: boolean;
  'aria-describedby'?: string;
  children: ComponentChildren;
  onCheck(isOn: boolean): void;
}

export function Option(props: OptionProps): JSX.Element {
  const { class: name = '', type = 'checkbox', children, onCheck, ...rest } = props;
  return (
    <label class={`option ${name}`}>
      <input {...rest} type={type} onChange={(event) => onCheck(event.currentTarget.checked)} /> {children}
    </label>
  );
}

interface TypedFieldProps {
  /** Path of the key in the endpoint, with dots. */
  path: string;
  schema: FieldSchema;
  value: unknown;
  problem: string;
  label?: string;
  /** Gets undefined for an empty text. */
  onValue(value: unknown): void;
}

/** A field whose label, hint and input come from the schema of its key. The service reads its text. */
export function TypedField(props: TypedFieldProps): JSX.Element {
  const { path, schema, value, problem, label = labelOf(path, schema), onValue } = props;
  if (schema.type === 'boolean') return <FlagField {...props} />;
  const { mode = 'text', rows = 1 } = schema.input ?? {};
  return (
    <TextField
      name={path}
      class={rows === 1 ? '' : 'whole'}
      label={label}
      hint={<Coded text={`${sentence(schema.description)} ${schema.hint ?? ''}`} />}
      placeholder={schema.placeholder}
      inputMode={mode}
      rows={rows}
      isCode
      problem={problem}
      value={typeof value === 'string' ? value : ''}
      onText={(text) => onValue(text || undefined)}
    />
  );
}

function FlagField({ path, schema, value, problem, onValue }: TypedFieldProps): JSX.Element {
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
