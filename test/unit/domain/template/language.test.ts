/** The language of templates: what Go's own `text/template` makes of a table of them, and what is told of those that do not parse. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { failing, faulty, faultyEarlier } from '../../../support/template-fault-rows.ts';
import { printing, printingLately, rowData } from '../../../support/template-rows.ts';
import { outcomeOf, rendered } from '../../../support/templates.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

/** Not among the dependencies of the product. */
const tool = 'go';

const program = `package main

import (
	"encoding/json"
	"os"
	"strings"
	"text/template"
)

func run(text string, data any) string {
	parsed, err := template.New("").Parse(text)
	if err != nil {
		return "fault"
	}
	var out strings.Builder
	if parsed.Execute(&out, data) != nil {
		return "failure"
	}
	return "text " + out.String()
}

func main() {
	var in struct {
		Data      any
		Templates []string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		panic(err)
	}
	out := []string{}
	for _, text := range in.Templates {
		out = append(out, run(text, in.Data))
	}
	json.NewEncoder(os.Stdout).Encode(out)
}
`;

/** Of `go1.26.8`: 26; undefined without Go. */
function minorOfGo(): number | undefined {
  const { stdout } = spawnSync(tool, ['version'], { encoding: 'utf8' });
  const [, minor] = /go1\.(\d+)/.exec(stdout ?? '') ?? [];
  return minor === undefined ? undefined : Number(minor);
}

describe('the language of templates', () => {
  it('prints what Go prints', () => {
    for (const [template, text] of [...printing, ...printingLately])
      expect(outcomeOf(template, rowData), template).to.deep.equal({ text });
  });

  it('refuses what Go refuses, and what could only fail', () => {
    for (const template of [...faulty, ...faultyEarlier])
      expect(outcomeOf(template, rowData), template).to.have.property('fault');
  });

  it('fails where Go fails', () => {
    for (const template of failing) expect(outcomeOf(template, rowData), template).to.have.property('failure');
  });

  it('has tables that Go itself agrees with', function () {
    this.timeout(120_000);
    const minor = minorOfGo();
    if (minor === undefined && process.env['SVC_TEST_REQUIRE'] === 'all') throw new Error('the tool "go" is missing');
    if (minor === undefined) {
      console.log('      skipped: the tool "go" is missing');
      this.skip();
    }
    // Debian has an older one.
    const texts = minor >= 23 ? [...printing, ...printingLately] : printing;
    using folder = temporaryFolder('svc-go-template-');
    const file = join(folder.path, 'main.go');
    writeFileSync(file, program);
    const templates = [...texts.map(([template]) => template), ...faulty, ...failing, ...faultyEarlier];
    const input = JSON.stringify({ data: rowData, templates });
    const { stdout, stderr } = spawnSync(tool, ['run', file], { input, encoding: 'utf8' });
    expect(stderr).to.equal('');
    const expected = [
      ...texts.map(([, text]) => `text ${text}`),
      ...[...faulty.map(() => 'fault'), ...failing.map(() => 'failure'), ...faultyEarlier.map(() => 'failure')],
    ];
    const heard = JSON.parse(stdout) as readonly string[];
    for (const [index, template] of templates.entries()) expect(heard[index], template).to.equal(expected[index]);
  });

  const told: readonly (readonly [template: string, fault: string])[] = [
    ['{{ nosuch .a }}', '1:4 function "nosuch" not defined'],
    ['a\n  {{ uper .a }}', '2:6 function "uper" not defined, did you mean "upper"?'],
    ['{{ $name := 1 }}{{ $nmae }}', '1:20 undefined variable $nmae, did you mean $name?'],
    ['{{ define "row" }}{{ end }}\n{{ template "rwo" }}', '2:1 template "rwo" is not defined, did you mean "row"?'],
    ['{{ if .a }}', '1:1 {{if}} has no {{end}}'],
    ['x\n{{ end }}', '2:1 unexpected {{end}}'],
    ['{{ .a', '1:1 unclosed action'],
    ['{{ print "a }}', '1:10 unterminated quoted text'],
    ['{{ print "a\\q" }}', '1:12 bad escape in a quoted text'],
    ['{{ break }}', '1:1 {{break}} outside {{range}}'],
    ['{{ .a | }}', '1:9 missing value after | in command'],
    ['{{ "a" | "b" }}', '1:4 non executable command in pipeline stage 2'],
  ];
  for (const [template, fault] of told)
    it(`says "${fault}"`, () => expect(outcomeOf(template)).to.deep.equal({ fault }));

  it('knows no function by a name that every object has', () => {
    for (const name of ['constructor', '__proto__', 'toString2', 'hasOwnProperty', 'valueOf'])
      expect(outcomeOf(`{{ ${name} . }}`), name).to.have.property('fault');
  });

  it('asks for the values of names when it is told that there are some', () => {
    const named = (name: string): string | undefined => ({ '$svc_context.headers_X-A': 'b"c' })[name];
    const text = 'a $svc_context.headers_X-A, {{ upper $svc_context.headers_X-A }}[$svc_meta.none]$secret';
    expect(rendered(text, {}, { named })).to.equal('a b"c, B"C[]$secret');
    expect(rendered(text.replace(/\{\{.*\}\}/, ''))).to.equal('a $svc_context.headers_X-A, [$svc_meta.none]$secret');
    const inData = { value: '$svc_context.headers_X-A {{ .a }}' };
    expect(rendered('{{ .value }}', inData, { named })).to.equal(inData.value);
  });
});
