/** Two or more ways to give the same. */
import type { ComponentChildren, JSX } from 'preact';
import { useId, useRef } from 'preact/hooks';

interface Props<T extends string> {
  label: string;
  tabs: readonly (readonly [T, string])[];
  chosen: T;
  onChoose(tab: T): void;
  children: ComponentChildren;
}

/** Arrow keys go from tab to tab. */
export function Tabs<T extends string>({ label, tabs, chosen, onChoose, children }: Props<T>): JSX.Element {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = tabs.findIndex(([tab]) => tab === chosen);
    const index = (at + step + tabs.length) % tabs.length;
    const next = tabs[index];
    if (next === undefined) return;
    onChoose(next[0]);
    list.current?.querySelectorAll('button')[index]?.focus();
  };
  return (
    <>
      <div ref={list} class="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map(([tab, words]) => (
          <button
            key={tab}
            id={`${id}-${tab}`}
            type="button"
            role="tab"
            aria-selected={tab === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={tab === chosen ? 0 : -1}
            onClick={() => onChoose(tab)}
          >
            {words}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} class="stack" role="tabpanel" aria-labelledby={`${id}-${chosen}`}>
        {children}
      </div>
    </>
  );
}
