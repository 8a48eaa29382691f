/** Forms of the console: fields with label, hint and problem, forms that are sent to the service, and confirmations. After a refusal, the first wrong field is focused. */
import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState, useId } from 'preact/hooks';
import { Dialog } from '../shared/dialog.tsx';
import { type Problem, Refused } from './ask.ts';
import type { FieldSchema } from '../../protocol/console-data.ts';

interface Sending<A extends unknown[] = []> {
  /** Problems of the last try. `field` is empty if a problem belongs to no field. */
  problems: Problem[];
  setProblems(problems: Problem[]): void;
  isBusy: boolean;
  send(...what: A): void;
}

/** State of a form or button. `save` resolves to problems found before sending, and rejects if refused. */
export function useSending<A extends unknown[] = []>(
  save: (...what: A) => Promise<Problem[] | void>,
): Sending<A> {
  const [problems, setProblems] = useState<Problem[]>([]);
  const [isBusy, setIsBusy] = useState(false);
  const isSent = useRef(false);
  const send = async (...what: A): Promise<void> => {
    // A disabled button would lose the focus, so a second click is ignored instead.
    if (isSent.current) return;
    isSent.current = true;
    setIsBusy(true);
    setProblems([]);
    try {
      setProblems((await save(...what)) ?? []);
    } catch (error) {
      const known = error instanceof Refused ? error.problems : [];
      setProblems(known.length > 0 ? known : [{ field: '', text: errorMessage(error) }]);
    } finally {
      isSent.current = false;
      setIsBusy(false);
    }
  };
  return { problems, setProblems, isBusy, send: (...what) => void send(...what) };
}

function errorMessage(error: unknown): string {
  if (error instanceof Refused) return error.message;
  return 'No response. The change may have been made: check before you repeat it.';
}

interface Props {
  sending: Sending;
  class?: string;
  children: ComponentChildren;
}

export function Form({ sending, class: name = 'stack', children }: Props): JSX.Element {
  const { problems, isBusy, send } = sending;
  const form = useRef<HTMLFormElement>(null);
  const begun = useRef({ at: null as Element | null, isTypedSince: false }).current;
  useEffect(() => {
    if (problems.length === 0) return;
    const now = document.activeElement;
    const isField = now !== begun.at && now?.matches('input, select, textarea') === true;
    // Keys that are typed while the service answers must not go to another field.
    const isTyping = begun.at !== null && (begun.isTypedSince || isField);
    begun.at = null;
    if (!isTyping) form.current?.querySelector<HTMLElement>('[aria-invalid=true], .problems')?.focus();
  }, [problems]);
  return (
    <form
      ref={form}
      class={name}
      noValidate
      onInput={() => {
        if (isBusy) begun.isTypedSince = true;
      }}
      onSubmit={(event) => {
        event.preventDefault();
        Object.assign(begun, { at: document.activeElement, isTypedSince: false });
        send();
      }}
    >
      {children}
    </form>
  );
}

/** Returns the problem of a field or of a part of it; empty if there is none. */
export function problemOf(problems: Problem[], name: string): string {
  return problems.find(({ field }) => field === name || field.startsWith(`${name}.`))?.text ?? '';
}

/** Shows problems that belong to no visible field. */
export function OtherProblems({ texts }: { texts: string[] }): JSX.Element | null {
  if (texts.length === 0) return null;
  return (
    <div class="message bad problems" role="alert" tabIndex={-1}>
      {texts.map((text) => (
        <p key={text}>{text}</p>
      ))}
    </div>
  );
}

/**
 * Keeps the focus in place when a focused button disappears: puts it on the element of the returned ref,
 * which
 * stays and has a `tabIndex` of -1.
 */
export function useFocusKept<E extends HTMLElement>(): RefObject<E | null> {
  const place = useRef<E | null>(null);
  const hadFocus = place.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    if (hadFocus && document.activeElement === document.body) place.current?.focus();
  });
  return place;
}

interface QuestionProps {
  button: string;
  /** Accessible name, if the button's text is not specific enough. */
  label?: string;
  isSmall?: boolean;
  /** Question, followed by the name of the thing. */
  question: string;
  name: string;
  children: ComponentChildren;
  /** Text of the button that confirms. */
  action: string;
  /** Does the action. The dialog closes if it succeeds. */
  onYes(): Promise<void>;
}

/** A button for an action that cannot be undone, with a confirmation dialog. */
export function Question(props: QuestionProps): JSX.Element {
  const { button, label, isSmall = false, question, name, ...rest } = props;
  const [isAsked, setIsAsked] = useState(false);
  const title = (
    <>
      {question} “<bdi>{name}</bdi>”?
    </>
  );
  return (
    <>
      <button
        type="button"
        class={isSmall ? 'small' : ''}
        aria-label={label}
        onClick={() => setIsAsked(true)}
      >
        {button}
      </button>
      {isAsked && <ConfirmDialog title={title} {...rest} onClose={() => setIsAsked(false)} />}
    </>
  );
}

interface ConfirmProps extends Pick<QuestionProps, 'children' | 'action' | 'onYes'> {
  title: ComponentChildren;
  onClose(): void;
}

export function ConfirmDialog({ title, children, action, onYes, onClose }: ConfirmProps): JSX.Element {
  const { problems, isBusy, send } = useSending(async () => {
    await onYes();
    onClose();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">{children}</div>
      <p class="problem" role="alert">
        {problems[0]?.text}
      </p>
      <div class="row end">
        <button type="button" onClick={onClose}>
          Go back
        </button>
        <button type="button" class="bad" aria-disabled={isBusy} onClick={() => send()}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}

interface FieldAttributes {
  id: string;
  'aria-invalid': boolean;
  'aria-describedby': string;
}

interface FieldProps {
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
}: FieldProps): JSX.Element {
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

interface TextProps extends Omit<FieldProps, 'children'> {
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
