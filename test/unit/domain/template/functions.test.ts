/** The functions of templates, a line for each thing that one of them does. */
import { expect } from 'chai';
import type { Json } from '../../../../domain/event.ts';
import { functionNames } from '../../../../domain/template/function-names.ts';
import { templateFunctions } from '../../../../domain/template/function-table.ts';
import { functionRows } from '../../../support/template-function-rows.ts';
import { outcomeOf, rendered } from '../../../support/templates.ts';

const data: Json = {
  name: 'Ann Bee',
  list: ['b', 'a', 'b', '', null],
  map: { b: 2, a: { x: 1 } },
  count: 3,
  when: '2026-01-02T03:04:05+02:00',
};

describe('the functions of templates', () => {
  it('do what the table says', () => {
    for (const [template, text] of functionRows) expect(rendered(template, data), template).to.equal(text);
  });

  it('are known by their names without being loaded', () => {
    expect([...functionNames]).to.have.members([...templateFunctions.keys()]);
  });

  it('are all in the table', () => {
    const shown = functionRows.map(([template]) => template).join('\n');
    for (const name of templateFunctions.keys()) expect(shown, name).to.match(new RegExp(`\\b${name}\\b`));
  });

  const failing: readonly (readonly [template: string, failure: string])[] = [
    ['{{ upper 1 }}', 'upper: wrong type for value; expected string; got int'],
    ['{{ upper .missing }}', 'upper: invalid value; expected string'],
    ['{{ upper }}', 'wrong number of args for upper: want 1 got 0'],
    ['{{ round 1 }}', 'wrong number of args for round: want at least 2 got 1'],
    ['{{ div 1 0 }}', 'div: integer divide by zero'],
    ['{{ mod 1 0 }}', 'mod: integer divide by zero'],
    ['{{ first .map }}', 'first: wrong type for value; expected list; got map[string]interface {}'],
    ['{{ get .list "a" }}', 'get: wrong type for value; expected map; got []interface {}'],
    ['{{ regexMatch "(a" "a" }}', 'regexMatch: a regular expression is no RE2 expression: missing closing ): (a'],
    ['{{ fromJson "{" }}', 'fromJson: the text is no JSON'],
    ['{{ b64dec "*" }}', 'b64dec: the text is not in this form'],
    ['{{ ternary 1 2 3 }}', 'ternary: wrong type for value; expected bool; got int'],
    ['{{ toDate "2006-01-02" "x" }}', 'toDate: the text is not of this form'],
    ['{{ xmlMarshal (dict "a b" 1 "c" 2) }}', 'xmlMarshal: a member has a name that no element can have'],
  ];
  for (const [template, failure] of failing)
    it(`fail with "${failure}"`, () => expect(outcomeOf(template, data)).to.deep.equal({ failure }));

  it('leave the data as it was', () => {
    const before = structuredClone(data);
    rendered('{{ $_ := set .map "b" 9 }}{{ $_ = unset .map "a" }}{{ mergeOverwrite .map (dict "z" 1) }}', data);
    expect(data).to.deep.equal(before);
  });

  it('make a new id each time', () => {
    const [a, b] = rendered('{{ uuidv4 }} {{ uuidv4 }}').split(' ');
    expect(a).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(a).not.to.equal(b);
  });
});
