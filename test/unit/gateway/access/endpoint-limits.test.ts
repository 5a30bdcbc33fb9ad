/** Limits of endpoints: which template a request counts for. */
import { expect } from 'chai';
import { endpointFinder } from '../../../../gateway/access/endpoint-limits.ts';

describe('the endpoint of a request', () => {
  const find = endpointFinder(
    [
      ...['/*', '/{any}', '/pets/{id}', '/pets/mine', '/pets/my-{name}', '/pets/{a}-{b}', '/pets/*/toys'],
      ...['/pets/{id}/toys', '/reports/*', '/reports/{year}', '/', '/a.b', '/{x}/mine'],
    ].map((path) => ({ path, method: 'get' })),
  );
  const rows: readonly [path: string, template: string | undefined][] = [
    ['/pets/mine', '/pets/mine'],
    ['/pets/mine/', '/pets/mine'],
    ['/pets/7', '/pets/{id}'],
    ['/pets/my-own', '/pets/my-{name}'],
    ['/pets/your-own', '/pets/{a}-{b}'],
    ['/pets/-own', '/pets/{id}'],
    ['/pets/7/toys', '/pets/{id}/toys'],
    ['/pets/7/other', '/*'],
    ['/pets', '/{any}'],
    ['/other/mine', '/{x}/mine'],
    ['/reports', '/reports/*'],
    ['/reports/2026', '/reports/{year}'],
    ['/reports/2026/7', '/reports/*'],
    ['/', '/'],
    ['/a.b', '/a.b'],
    ['/axb', '/{any}'],
    ['/PETS/mine', '/{x}/mine'],
  ];
  for (const [path, template] of rows) {
    it(`${path} is ${template}`, () => {
      expect(find('GET', path)?.template).to.equal(template);
    });
  }

  it('does not depend on the order in which templates are given', () => {
    const reversed = endpointFinder(['/pets/{id}', '/pets/mine'].map((path) => ({ path, method: 'GET' })));
    expect(reversed('GET', '/pets/mine')?.template).to.equal('/pets/mine');
  });

  it('goes by the method: a better template of another method does not count', () => {
    const both = endpointFinder([
      { path: '/pets/mine', method: 'POST' },
      { path: '/pets/{id}', method: 'GET', rate: { rate: 3, perMs: 1_000 } },
    ]);
    expect(both('GET', '/pets/mine')).to.deep.equal({
      ...{ method: 'GET', template: '/pets/{id}', rate: { rate: 3, perMs: 1_000 } },
    });
    expect(both('HEAD', '/pets/mine')).to.equal(undefined);
  });
});
