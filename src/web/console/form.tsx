/** A form that is sent to the service, and leads to the first field that is wrong. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Refused, troubleWords, type Problem } from './ask.ts';

export interface Sending {
  /** New ones after each try; those that name no field have an empty one. */
  problems: Problem[];
  setProblems(problems: Problem[]): void;
  isBusy: boolean;
  send(): void;
}

/** `save` resolves to what keeps it from being sent at all, none where it was done, and rejects with what the service has against it. */
export function useSending(save: () => Promise<Problem[]>): Sending {
  const [problems, setProblems] = useState<Problem[]>([]);
  const [isBusy, setIsBusy] = useState(false);
  const isSent = useRef(false);
  const send = async (): Promise<void> => {
    // A button that is disabled meanwhile would lose the focus.
    if (isSent.current) return;
    isSent.current = true;
    setIsBusy(true);
    setProblems([]);
    try {
      setProblems(await save());
    } catch (error) {
      const known = error instanceof Refused ? error.problems : [];
      setProblems(known.length > 0 ? known : [{ field: '', text: troubleWords(error) }]);
    } finally {
      isSent.current = false;
      setIsBusy(false);
    }
  };
  return { problems, setProblems, isBusy, send: () => void send() };
}

interface Props {
  sending: Sending;
  class: string;
  children: ComponentChildren;
}

export function Form({ sending: { problems, send }, class: name, children }: Props): JSX.Element {
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

/** Those that belong to no field that is shown. */
export function OtherProblems({ texts }: { texts: string[] }): JSX.Element | null {
  if (texts.length === 0) return null;
  return (
    <div class="notice bad problems" role="alert" tabIndex={-1}>
      {texts.map((text) => (
        <p key={text}>{text}</p>
      ))}
    </div>
  );
}
