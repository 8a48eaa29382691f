/** Form fields, each with a label, a hint and its problem. */
import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';

export interface FieldAttributes {
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
