/** Signing in with a key. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, Refused } from './ask.ts';
import { tellLink } from './link.ts';

export function SignIn(): JSX.Element {
  const [key, setKey] = useState('');
  const [problem, setProblem] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const signIn = async (): Promise<void> => {
    if (isBusy) return;
    if (key.trim() === '') return setProblem('Give a key.');
    setIsBusy(true);
    setProblem('');
    try {
      await ask('POST', 'session', { key: key.trim() });
      tellLink({ isSignedOut: false });
    } catch (error) {
      setProblem(error instanceof Refused ? error.message : 'The service does not answer. Try again.');
      setIsBusy(false);
      field.current?.focus();
    }
  };
  return (
    <form
      class="sign-in stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void signIn();
      }}
    >
      <div class="field">
        <label for="key">API key</label>
        <input
          id="key"
          ref={field}
          type="password"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          autofocus
          value={key}
          aria-invalid={problem !== ''}
          aria-describedby="key-hint key-problem"
          onInput={(event) => setKey(event.currentTarget.value)}
        />
        <p id="key-hint" class="hint">
          The key that <code>nightrender serve</code> was started with, or one of the kind <em>admin</em>.
        </p>
        <p id="key-problem" class="problem" role="alert">
          {problem}
        </p>
      </div>
      <button type="submit" class="primary" aria-disabled={isBusy}>
        Sign in
      </button>
    </form>
  );
}
