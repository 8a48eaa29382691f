/** Finds the places at which a file can be broken on purpose, each in one small way. */
import { parseSync, Visitor } from 'oxc-parser';

export interface Mutation {
  /** Description of the change, such as `an await removed`. */
  kind: string;
  /** Range of characters that `by` replaces. */
  start: number;
  end: number;
  by: string;
}

/** Returns the mutations of a file. */
export function mutationsOf(file: string, text: string): Mutation[] {
  const found: Mutation[] = [];
  const add = (kind: string, { start, end }: Span, by: string): void =>
    void found.push({ kind, start, end, by });
  const textOf = ({ start, end }: Span): string => text.slice(start, end);
  const negate = (test: Span): void => add('a condition turned', test, `!(${textOf(test)})`);
  const { program } = parseSync(file, text);
  new Visitor({
    BinaryExpression: ({ left, right, operator }) => {
      const other = comparisons[operator];
      if (other === undefined) return;
      const between = { start: left.end, end: right.start };
      add('a comparison turned', between, textOf(between).replace(operator, other));
    },
    LogicalExpression: ({ left, right, operator }) => {
      const between = { start: left.end, end: right.start };
      const other = operator === '&&' ? '||' : '&&';
      if (operator === '??') add('a default dropped', { start: left.end, end: right.end }, '');
      else add('a condition turned', between, textOf(between).replace(operator, other));
    },
    ConditionalExpression: ({ test }) => negate(test),
    IfStatement: ({ test }) => negate(test),
    ExpressionStatement: (statement) => {
      const { expression } = statement;
      const dropped = expression.type === 'AwaitExpression' ? expression.argument : expression;
      if (dropped.type === 'CallExpression') add('a call dropped', statement, ';');
      if (dropped.type === 'AssignmentExpression') add('an assignment dropped', statement, ';');
    },
    AwaitExpression: ({ start, argument }) =>
      add(
        'an await removed',
        { start, end: argument.start },
        text.slice(start + 'await'.length, argument.start),
      ),
  }).visit(program);
  return found.toSorted((a, b) => a.start - b.start);
}

interface Span {
  start: number;
  end: number;
}

const comparisons: Record<string, string> = {
  '===': '!==',
  '!==': '===',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
};

export function mutated(text: string, { start, end, by }: Mutation): string {
  return text.slice(0, start) + by + text.slice(end);
}
