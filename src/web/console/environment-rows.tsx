/** Names and values for the workers' environment. */
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { PartProps } from './endpoint-draft.ts';
import { useFocusKept } from './use-focus-kept.ts';

export function EnvironmentRows({ draft: { environment }, problems, onChange }: PartProps): JSX.Element {
  const list = useFocusKept<HTMLUListElement>();
  const count = useRef(environment.length);
  const problem = problems['environment'] ?? '';
  useLayoutEffect(() => {
    if (environment.length > count.current)
      list.current?.querySelector<HTMLElement>('li:last-child input')?.focus();
    count.current = environment.length;
  }, [environment.length]);
  const change = (key: number, part: { name?: string; value?: string }): void =>
    onChange({ environment: environment.map((row) => (row.key === key ? { ...row, ...part } : row)) });
  const add = (): void => {
    const key = Math.max(-1, ...environment.map((row) => row.key)) + 1;
    onChange({ environment: [...environment, { key, name: '', value: '' }] });
  };
  return (
    <>
      <p class="hint" id="environment-hint">
        For the workers. Secrets given here can be read by everybody who can open this console.
      </p>
      <ul ref={list} class="environment" aria-label="Variables" tabIndex={-1}>
        {environment.map(({ key, name, value }, index) => (
          <li key={key}>
            {(['name', 'value'] as const).map((part) => (
              <input
                key={part}
                type="text"
                autocomplete="off"
                spellcheck={false}
                placeholder={part}
                aria-label={`${part} of variable ${index + 1}`}
                aria-invalid={problem !== ''}
                aria-describedby="environment-problem"
                value={part === 'name' ? name : value}
                onInput={(event) => change(key, { [part]: event.currentTarget.value })}
              />
            ))}
            <button
              type="button"
              class="small"
              aria-label={`Remove variable ${name === '' ? index + 1 : name}`}
              onClick={() => onChange({ environment: environment.filter((row) => row.key !== key) })}
            >
              ✕
            </button>
          </li>
        ))}
      </ul>
      <p id="environment-problem" class="problem">
        {problem}
      </p>
      <div class="buttons">
        <button type="button" onClick={add}>
          Add a variable
        </button>
      </div>
    </>
  );
}
