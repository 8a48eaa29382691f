/** A form that is sent to the service, and leads to the first field that is wrong. */
import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Refused, troubleWords, type Problem } from './ask.ts';

export interface Sending<A extends unknown[] = []> {
  /** New ones after each try; those that name no field have an empty one. */
  problems: Problem[];
  setProblems(problems: Problem[]): void;
  isBusy: boolean;
  send(...what: A): void;
}

/** `save` resolves to what keeps it from being sent at all, nothing where it was done, and rejects with what the service has against it. */
export function useSending<A extends unknown[] = []>(
  save: (...what: A) => Promise<Problem[] | void>,
): Sending<A> {
  const [problems, setProblems] = useState<Problem[]>([]);
  const [isBusy, setIsBusy] = useState(false);
  const isSent = useRef(false);
  const send = async (...what: A): Promise<void> => {
    // A button that is disabled meanwhile would lose the focus.
    if (isSent.current) return;
    isSent.current = true;
    setIsBusy(true);
    setProblems([]);
    try {
      setProblems((await save(...what)) ?? []);
    } catch (error) {
      const known = error instanceof Refused ? error.problems : [];
      setProblems(known.length > 0 ? known : [{ field: '', text: troubleWords(error) }]);
    } finally {
      isSent.current = false;
      setIsBusy(false);
    }
  };
  return { problems, setProblems, isBusy, send: (...what) => void send(...what) };
}

interface Props {
  sending: Sending;
  class?: string;
  children: ComponentChildren;
}

export function Form({ sending: { problems, send }, class: name = 'stack', children }: Props): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (problems.length === 0) return;
    form.current?.querySelector<HTMLElement>('[aria-invalid=true], .problems')?.focus();
  }, [problems]);
  return (
    <form
      ref={form}
      class={name}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {children}
    </form>
  );
}

/** What is wrong with a field, or a part of what it stands for; empty where nothing is. */
export function problemOf(problems: Problem[], name: string): string {
  return problems.find(({ field }) => field === name || field.startsWith(`${name}.`))?.text ?? '';
}

/** Those that belong to no field that is shown. */
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
 * Keeps whoever works by keyboard or ear in his place where the button that he pressed goes away. For an element that
 * stays, with a `tabIndex` of -1: it has the focus once what had it within is gone.
 */
export function useFocusKept<E extends HTMLElement>(): RefObject<E | null> {
  const place = useRef<E | null>(null);
  const hadFocus = place.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    if (hadFocus && document.activeElement === document.body) place.current?.focus();
  });
  return place;
}
