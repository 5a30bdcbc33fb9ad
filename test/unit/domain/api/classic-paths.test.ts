/** Paths of Classic definitions: what an expression becomes, what is narrower or wider by it, and which blocks an operation gets. */
import { expect } from 'chai';
import { toClassic, toOas } from '../../../../domain/api/classic/codec.ts';
import { lossesToClassic, lossesToOas } from '../../../../domain/api/classic/losses.ts';
import { declared, readPath, writePath } from '../../../../domain/api/classic/paths.ts';
import { gatewayExtension } from '../../../../domain/api/definition.ts';
import type { Json, JsonObject } from '../../../../domain/event.ts';
import { at, objectAt } from '../../../../domain/json.ts';
import { classicDefinition, laidOver, withPaths } from '../../../support/classic-definitions.ts';

const of = (lists: JsonObject): JsonObject => laidOver(classicDefinition('a', 'http://127.0.0.1:1'), withPaths(lists));
const operationsOf = (lists: JsonObject): JsonObject =>
  objectAt(toOas(of(lists)).document, gatewayExtension, 'middleware', 'operations') ?? {};
const lossesOf = (lists: JsonObject) => lossesToOas(of(lists));
const extendedBack = (lists: JsonObject): Json | undefined =>
  at(toClassic(toOas(of(lists)).document), 'version_data', 'versions', 'Default', 'extended_paths');
const get = (path: string, members: JsonObject = {}): JsonObject => ({ path, method: 'GET', ...members });

describe('a path of a Classic definition', () => {
  const id = (pattern: string) => ({ name: 'id', pattern });
  const made = (number: number, pattern: string) => ({ name: `customRegex${number}`, pattern });
  const cases: readonly (readonly [string, string, readonly Json[], string?])[] = [
    ['/users', '/users', []],
    ['users', '/users', [], '/users'],
    ['^/users$', '/users', [], '/users'],
    ['/users/{id}', '/users/{id}', [{ name: 'id' }]],
    ['/users/{id:[0-9]+}', '/users/{id}', [id('^[0-9]+$')]],
    ['/users/{id:a|b}', '/users/{id}', [id('^(?:a|b)$')]],
    ['/report.{format}', '/report.{format}', [{ name: 'format' }]],
    ['/v[0-9]+/(a|b)', '/{customRegex1}/{customRegex2}', [made(1, '^v[0-9]+$'), made(2, '^(?:(a|b))$')]],
    ['/files/*', '/files/*', []],
    ['/files/.*', '/files/*', [], '/files/*'],
    ['/*/x', '/*/x', []],
    ['/', '/', []],
    ['/a/', '/a/', []],
  ];
  for (const [text, template, parameters, back = text] of cases) {
    it(`${text} is ${template}`, () => {
      const read = readPath(text, false);
      if ('problem' in read) throw new Error(read.problem);
      expect(read.template).to.equal(template);
      expect(read.parameters).to.deep.equal(parameters);
      expect(writePath(read.template, declared(read.parameters), false)).to.equal(back);
    });
  }

  for (const text of ['/(a/b)', '/[', '/{id:(}', '/x/{a}/{a}', '/(?=a)', '/(a)\\1']) {
    it(`${text} cannot be written as a path`, () => {
      expect(readPath(text, false)).to.have.property('problem');
    });
  }

  it('holds a dot as it stands, and where it blocks as any character', () => {
    expect(readPath('/a.json', false)).to.include({ template: '/a.json' });
    expect(readPath('/a.json', true)).to.include({ template: '/{customRegex1}' });
    expect(readPath('/a\\.json', true)).to.include({ template: '/a.json' });
  });
});

describe('path lists of a Classic definition', () => {
  it('a block covers what lies below it, and is told as wider', () => {
    const lists = { black_list: [get('/admin')] };
    expect(Object.keys(operationsOf(lists))).to.deep.equal(['adminGET', 'admin/*GET']);
    expect(lossesOf(lists)).to.deep.include({
      pointer: '/version_data/versions/Default/extended_paths/black_list/0',
      severity: 'widened',
      text: '"/admin" blocks /admin and everything below it',
    });
    expect(extendedBack(lists)).to.deep.equal(lists);
  });

  it('a block that was meant to hit in the middle is named', () => {
    expect(lossesOf({ black_list: [get('admin')] })[0]?.text).to.match(/no longer hits in the middle of a path$/);
  });

  it('everything else becomes exact, and is told as narrower unless it was', () => {
    const of = (path: string) => lossesOf({ white_list: [get(path)] }).map(({ severity }) => severity);
    expect(of('/users')).to.deep.equal(['narrowed']);
    expect(of('^/users$')).to.deep.equal(['info']);
  });

  it('a path that cannot be written is not offered, and only named when it is off', () => {
    expect(lossesOf({ white_list: [get('/(a/b)')] })[0]?.severity).to.equal('unsupported');
    expect(lossesOf({ white_list: [get('/(a/b)', { disabled: true })] })[0]?.severity).to.equal('info');
  });

  it('a bare path stands for every method, and comes back bare', () => {
    const lists = { ignored: ['/free'], cache: ['/free'] };
    const operations = operationsOf(lists);
    expect(Object.keys(operations)).to.have.length(8);
    expect(operations['freeGET']).to.deep.equal({ ignoreAuthentication: { enabled: true }, cache: { enabled: true } });
    expect(operations['freePOST']).to.deep.equal({ ignoreAuthentication: { enabled: true } });
    expect(extendedBack(lists)).to.deep.equal(lists);
  });

  it('an action for a method is that block, and a reply a mock', () => {
    const actions = {
      GET: { action: 'no_action' },
      POST: { action: 'reply', code: 202, data: 'ok', headers: { a: 'b' } },
    };
    expect(operationsOf({ white_list: [{ path: '/a', method_actions: actions }] })).to.deep.equal({
      aGET: { allow: { enabled: true } },
      aPOST: {
        allow: { enabled: true },
        mockResponse: { enabled: true, code: 202, body: 'ok', headers: [{ name: 'a', value: 'b' }] },
      },
    });
  });

  it('a narrower path has what a wider one says: each list was asked by itself', () => {
    const operations = operationsOf({
      ignored: [get('/admin/login')],
      white_list: [get('/admin/{x}')],
      black_list: [get('/admin')],
      track_endpoints: [get('/other')],
    });
    expect(operations['admin/loginGET']).to.deep.equal({
      ignoreAuthentication: { enabled: true },
      allow: { enabled: true },
      block: { enabled: true },
    });
    expect(operations['admin/{x}GET']).to.deep.equal({ allow: { enabled: true }, block: { enabled: true } });
    expect(operations['otherGET']).to.deep.equal({ trackEndpoint: { enabled: true } });
  });

  it('a block with an expression reaches the literal paths that it fits, and no others', () => {
    const operations = operationsOf({
      black_list: [get('/u/{id:[0-9]+}')],
      white_list: [get('/u/7'), get('/u/me')],
    });
    expect(operations['u/7GET']).to.have.property('block');
    expect(operations['u/meGET']).to.not.have.property('block');
  });

  it('two expressions at one place are two paths, and come back as they were', () => {
    const lists = { white_list: [get('/v[0-9]+/x'), get('/w[0-9]+/x'), get('/u/{id:[0-9]+}'), get('/u/{id:[a-z]+}')] };
    const { paths } = toOas(of(lists)).document as { paths: JsonObject };
    expect(Object.keys(paths)).to.deep.equal(['/{customRegex1}/x', '/{customRegex2}/x', '/u/{id}', '/u/{id_2}']);
    expect(at(extendedBack(lists), 'white_list')).to.deep.include.members([get('/v[0-9]+/x'), get('/w[0-9]+/x')]);
    expect(lossesOf(lists).filter(({ severity }) => severity === 'unsupported')).to.deep.equal([]);
  });

  it('a block names the operations that it reaches besides its own', () => {
    const said = lossesOf({ black_list: [get('/admin')], white_list: [get('/admin/x')] });
    expect(said.map(({ text }) => text)).to.include('blocks the operation admin/xGET too, which its path may hold');
  });

  it('lists without use_extended_paths make no operation, and are named as off', () => {
    const whole = laidOver(of({ black_list: [get('/admin')] }), {
      version_data: { versions: { Default: { use_extended_paths: false } } },
    });
    expect(toOas(whole).document['paths']).to.deep.equal({});
    expect(lossesToOas(whole).every(({ severity }) => severity === 'info')).to.equal(true);
  });

  it('more operations than a gateway should match are not offered', () => {
    const many = Array.from({ length: 2001 }, (_, index) => get(`/p${index}`));
    expect(lossesOf({ track_endpoints: many }).filter(({ severity }) => severity === 'unsupported')).to.have.length(1);
  });

  it('a block of a document is told as wider on the way to the Classic form, and one that a wider path gives too', () => {
    const document = toOas(of({ internal: [get('/a/b')], cache: ['/a/*'] })).document;
    const blocks = { 'a/bGET': { block: { enabled: true } }, 'a/*GET': { internal: { enabled: true } } };
    const extension = objectAt(document, gatewayExtension) ?? {};
    const own = { ...document, [gatewayExtension]: { ...extension, middleware: { operations: blocks } } };
    const said = lossesToClassic(own).filter(({ severity }) => severity === 'widened');
    expect(said.map(({ pointer }) => pointer)).to.deep.equal([
      `/${gatewayExtension}/middleware/operations/a~1bGET/block`,
      `/${gatewayExtension}/middleware/operations/a~1bGET`,
    ]);
  });
});
