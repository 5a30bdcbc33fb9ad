/** Templates that want too much, and data that wants in: every run ends, and reaches nothing but its own values. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { Json } from '../../../../domain/event.ts';
import { templateFunctions } from '../../../../domain/template/function-table.ts';
import { templatePort } from '../../../../gateway/template-port.ts';
import { outcomeOf, rendered } from '../../../support/templates.ts';

const double = (times: number): string => `{{ $a := "xx" }}${'{{ $a = print $a $a }}'.repeat(times)}{{ $a }}`;

const greedy: readonly (readonly [name: string, template: string, failure: RegExp])[] = [
  ['a loop over a huge number', '{{ range 1000000000 }}{{ end }}', /steps/],
  ['loops in loops', '{{ range 9999 }}{{ range 9999 }}{{ end }}{{ end }}', /steps/],
  ['a template that calls itself', '{{ define "r" }}{{ template "r" }}{{ end }}{{ template "r" }}', /64 levels/],
  [
    'templates that call each other',
    '{{ define "a" }}{{ template "b" }}{{ template "b" }}{{ end }}{{ define "b" }}{{ template "a" }}{{ end }}{{ template "a" }}',
    /64 levels/,
  ],
  ['a text that doubles', double(40), /too much text/],
  ['a text that is repeated', '{{ repeat 1000000000 "x" }}', /too much text/],
  ['nothing, repeated', '{{ repeat 1000000000000 "" }}', /too much text|steps/],
  ['a wide number', '{{ printf "%999999999d" 1 }}', /too wide/],
  ['an indent', '{{ indent 2000000000 "x" }}', /too much text/],
  ['a replacement', '{{ $a := repeat 5000 "a" }}{{ replace "a" (repeat 100000 "b") $a }}', /too much text/],
  ['a long list', '{{ until 2000000000 }}', /steps/],
  ['a long row', '{{ seq 1 2000000000 }}', /steps/],
  ['a list that doubles', `{{ $l := list 1 }}${'{{ $l = concat $l $l }}'.repeat(40)}`, /steps/],
  ['a tree of the same lists', `{{ $l := list 1 }}${'{{ $l = list $l $l }}'.repeat(40)}{{ $l }}`, /steps|too much/],
  [
    'the same in a form',
    `{{ $l := list 1 }}${'{{ $l = list $l $l }}'.repeat(40)}{{ printf "%s" $l }}`,
    /steps|too much/,
  ],
  ['the same as JSON', `{{ $l := list 1 }}${'{{ $l = list $l $l }}'.repeat(40)}{{ toJson $l }}`, /steps|too much/],
  [
    'the same compared',
    `{{ $l := list 1 }}{{ $m := list 1 }}${'{{ $l = list $l $l }}{{ $m = list $m $m }}'.repeat(40)}{{ has $l (list $m) }}`,
    /steps/,
  ],
  ['a map in itself', '{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d }}', /deeper than 64/],
  ['a map in itself as JSON', '{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ toJson $d }}', /deeper than 64/],
  ['a map in itself as XML', '{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ xmlMarshal $d }}', /deeper than 64/],
  [
    'a map in itself, merged',
    '{{ $d := dict "x" 1 }}{{ $_ := set $d "d" $d }}{{ $e := dict }}{{ $_ = set $e "d" $e }}{{ merge $d $e }}',
    /deeper than 64/,
  ],
  ['a map in itself, copied', '{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ deepCopy $d }}', /deeper than 64/],
  ['deep JSON', '{{ fromJson (repeat 600 "[" | cat (repeat 600 "]") | nospace) }}', /no JSON/],
  ['JSON that is too deep', '{{ fromJson (print (repeat 600 "[") (repeat 600 "]")) }}', /deeper than 512/],
  ['groups in every match', '{{ regexReplaceAll "a" (repeat 5000 "a") (repeat 20000 "$9") }}', /steps/],
  ['groups of every match', '{{ regexFindAll (print (repeat 900 "()") "a") (repeat 5000 "a") -1 }}', /steps/],
  ['an expression of many states', '{{ regexMatch (repeat 20 "((a{0,30}){0,30})") (repeat 20000 "a") }}', /steps/],
  ['a long layout', '{{ date (repeat 1100000 "2006") now }}', /steps/],
  ['a layout that grows', '{{ date (repeat 100 (repeat 37000 "Z07")) now }}', /too much text|steps/],
  ['parts by numbers', '{{ split "" (repeat 1000000 "a") | len }}{{ split "" (repeat 999999 "b") | len }}', /steps/],
  ['a map that is gone through', `{{ $d := split "" (repeat 600000 "a") }}{{ range $d }}{{ break }}{{ end }}`, /steps/],
  ['escapes of escapes', `{{ repeat 5000000 "'" ${'| js '.repeat(6)}| len }}`, /too much text/],
  ['base64 of base64', `{{ repeat 5000000 "x" ${'| b64enc '.repeat(9)}| len }}`, /too much text/],
  [
    'a long part of a text',
    '{{ contains (print (repeat 200000 "ab") "b" (repeat 100000 "ab")) (repeat 450000 "ab") }}',
    /steps/,
  ],
  ['a long text in a text', '{{ replace (print (repeat 200000 "ab") "b") "x" (repeat 450000 "ab") }}', /steps/],
  ['separators', '{{ splitList (print (repeat 200000 "ab") "b") (repeat 450000 "ab") }}', /steps/],
  [
    'maps without members',
    '{{ $d := split "" (repeat 90000 "a") }}{{ range until 100 }}{{ $_ := omit $d "x" }}{{ end }}',
    /steps/,
  ],
  [
    'maps of some members',
    '{{ $d := split "" (repeat 90000 "a") }}{{ range until 100 }}{{ $_ := pick $d "x" }}{{ end }}',
    /steps/,
  ],
  [
    'copies of a map',
    '{{ $d := split "" (repeat 90000 "a") }}{{ range until 100 }}{{ $_ := deepCopy $d }}{{ end }}',
    /steps/,
  ],
  ['other words', '{{ title (repeat 9000000 "a ") }}', /steps/],
  ['a separator', '{{ join (repeat 1000000 "x") (until 1000) }}', /too much text/],
];

describe('a template that wants too much', () => {
  for (const [name, template, failure] of greedy) {
    it(`is stopped: ${name}`, () => {
      expect(outcomeOf(template)).to.have.property('failure').that.matches(failure);
    });
  }

  it('is stopped when its result is too long, or its time is over', () => {
    const limits = { maxOutput: 10 };
    expect(outcomeOf('{{ range 3 }}12345{{ end }}', {}, { limits })).to.have.property('failure');
    expect(outcomeOf('{{ range 2 }}12345{{ end }}', {}, { limits })).to.deep.equal({ text: '1234512345' });
    let at = 0;
    const port = { ...templatePort, monotonicMs: () => at++ * 600 };
    const slow = outcomeOf('{{ range 5000 }}{{ end }}', {}, { port });
    expect(slow).to.deep.equal({ failure: 'takes longer than 1000 ms' });
  });

  it('is refused when it nests too deeply', () => {
    for (const [open, close] of [
      ['{{ if 1 }}', '{{ end }}'],
      ['{{ print ', '}}'],
    ] as const) {
      const nested = open.includes('if')
        ? open.repeat(5_000) + close.repeat(5_000)
        : `{{ print ${'('.repeat(5_000)}1${')'.repeat(5_000)} }}`;
      expect(outcomeOf(nested)).to.have.property('fault').that.contains('deeper than 64');
    }
  });
});

describe('a template that is slow to look at', () => {
  const slow: readonly (readonly [name: string, template: string])[] = [
    ['blanks in a text', `${' x'.padStart(60_000)}{{- 1 }}${' '.repeat(60_000)}x{{- 1 }}`],
    ['a directive without end', `{{ printf "%${'0'.repeat(60_000)}" }}`],
    ['a layout of digits', `{{ toDate "${'1'.repeat(150)}" "${'1'.repeat(300)}x" }}`],
    ['blocks in templates in blocks', nestedTemplates()],
    ['a zone in every place', '{{ dateInZone (repeat 20000 "MST") now "Europe/Zurich" | len }}'],
  ];
  for (const [name, template] of slow)
    it(`comes to an end: ${name}`, () => {
      const outcome = outcomeOf(template, {}, { limits: { maxSteps: 100_000 } });
      expect(outcome).to.have.any.keys('text', 'failure');
    });
});

it('a template whose matches each look at all that follows is ended by the clock', () => {
  const quadratic = '{{ regexFindAll "a.*b|a" (repeat 90000 "a") -1 | len }}';
  const outcome = outcomeOf(quadratic, {}, { port: templatePort, limits: { maxMs: 100 } });
  expect(outcome)
    .to.have.property('failure')
    .that.matches(/longer than 100 ms/);
});

/** As deep as both limits allow. */
function nestedTemplates(): string {
  const open = '{{ if 1 }}'.repeat(60);
  const close = '{{ end }}'.repeat(60);
  const bodies = Array.from({ length: 62 }, (_, index) => {
    return `{{ define "t${index}" }}${open}{{ template "t${index + 1}" . }}${close}{{ end }}`;
  });
  return `${bodies.join('')}{{ define "t62" }}{{ end }}{{ template "t0" . }}`;
}

const hostile = JSON.parse(
  '{"__proto__": {"polluted": "own"}, "constructor": "own", "text": "{{ .secret }}$secret_x", "list": [1]}',
) as Json;

describe('data of a template', () => {
  it('is read by its own members alone', () => {
    expect(rendered('{{ .constructor }} {{ .__proto__.polluted }} {{ .text }}', hostile)).to.equal(
      'own own {{ .secret }}$secret_x',
    );
    const absent = [
      '.constructor',
      '.__proto__',
      '.toString',
      '.list2.length',
      '(dict).constructor',
      '(get . "hasOwnProperty" | default nil)',
    ];
    for (const path of absent) expect(rendered(`{{ ${path} }}`, {}), path).to.equal('<no value>');
    for (const path of [
      '.list.length',
      '.list.constructor',
      '.text.length',
      '.text.constructor',
      '(index .list 0).constructor',
    ])
      expect(outcomeOf(`{{ ${path} }}`, hostile), path).to.have.property('failure');
  });

  it('cannot be made to reach what all objects share', () => {
    rendered('{{ $d := dict }}{{ $_ := set $d "__proto__" (dict "polluted" 1) }}{{ merge (dict) $d }}', {});
    rendered(
      '{{ merge (dict) . }}{{ set . "constructor" 1 }}{{ fromJson "{\\"__proto__\\":{\\"polluted\\":1}}" }}',
      hostile,
    );
    expect(({} as { polluted?: unknown }).polluted).to.equal(undefined);
    expect(rendered('{{ toJson (dict "__proto__" 1) }}')).to.equal('{"__proto__":1}');
  });
});

const names = [...templateFunctions.keys()];
const piece = fc.oneof(
  fc.constantFrom(
    '{{',
    '}}',
    '{{-',
    '-}}',
    '(',
    ')',
    '|',
    ' ',
    '"a"',
    '`b`',
    '1',
    '-2.5',
    '.',
    '.a',
    '$x',
    '$',
    ':=',
    '=',
    ',',
  ),
  fc.constantFrom(
    'if ',
    'range ',
    'with ',
    'else',
    'end',
    'define "t"',
    'template "t" .',
    'break',
    'nil',
    'true',
    '{{end}}',
  ),
  fc.constantFrom(...names).map((name) => `${name} `),
  fc.string({ maxLength: 4 }),
);
const operand = fc.oneof(
  fc.constantFrom(
    '1',
    '0',
    '-1',
    '"x"',
    '""',
    'nil',
    'true',
    '.',
    '.a',
    '.b',
    '.missing',
    '(list 1 2)',
    '(dict "a" 1)',
    'now',
    '1.5',
    '9223372036854775807',
    '"%d"',
  ),
  fc.constantFrom('"2006"', '"("', '"a,b"', '(list)', '99999'),
);
const call = fc
  .tuple(fc.constantFrom(...names), fc.array(operand, { maxLength: 4 }))
  .map(([name, operands]) => `{{ ${[name, ...operands].join(' ')} }}`);

describe('whatever is written', () => {
  it('is a fault with a place, a failure, or a text', () => {
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 25 }).map((parts) => parts.join('')),
        fc.jsonValue(),
        (text, data) => {
          const outcome = outcomeOf(text, data as Json, { limits: { maxSteps: 5_000 } });
          if ('fault' in outcome) expect(outcome.fault).to.match(/^[1-9]\d*:[1-9]\d* /);
          return true;
        },
      ),
      { numRuns: 400 },
    );
  });

  it('calls every function with anything', () => {
    fc.assert(
      fc.property(call, fc.record({ a: fc.jsonValue(), b: fc.string() }), (text, data) => {
        const limits = { maxSteps: 20_000, maxOutput: 100_000 };
        expect(outcomeOf(text, data as Json, { limits })).not.to.have.property('fault');
      }),
      { numRuns: 1_500 },
    );
  });
});

describe('values in a JSON document', () => {
  const escaping = 'json' as const;
  const document =
    '{"a": "x{{ .v }}y", "b": {{ toJson .v }}, "c": {{ quote .v }}, "d": "{{ toJson .v }}", "e": ["{{ .v }}"]}';

  it('stay where they were put', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (v) => {
        const plain = v.toWellFormed();
        const { c, ...parsed } = JSON.parse(rendered(document.replace('{{ quote .v }}', '1'), { v }, { escaping }));
        expect(c).to.equal(1);
        expect(parsed).to.deep.equal({ a: `x${plain}y`, b: plain, d: rendered('{{ toJson .v }}', { v }), e: [plain] });
      }),
    );
  });

  it('are escaped once, wherever they stand', () => {
    const v = 'say "hi" \\ \n</script>';
    expect(JSON.parse(rendered(document, { v }, { escaping }))).to.deep.include({ a: `x${v}y`, b: v, c: v, e: [v] });
    expect(JSON.parse(rendered('{{ $j := toJson . }}{{ $j }}', { v: { w: [1, v] } }, { escaping }))).to.deep.equal({
      v: { w: [1, v] },
    });
  });

  it('make no members where their string was forgotten', () => {
    const v = '"x", "admin": "yes';
    expect(() => JSON.parse(rendered('{"a": {{ .v }}"}', { v }, { escaping }))).to.throw();
    expect(
      rendered('{"a": {{ .n }}, "b": {{ .t }}{{ "," }} "c": {{ .q }}}', { n: 1.5, t: true, q: '"x"' }, { escaping }),
    ).to.equal('{"a": 1.5, "b": true, "c": "x"}');
  });
});
