/** Filters and mapping of a sink. */
import { expect } from 'chai';
import type { AnalyticsRecord } from '../../../domain/analytics-record.ts';
import { createFilter } from '../../../pump/filter.ts';
import { createMap } from '../../../pump/map.ts';
import type { SinkFilters } from '../../../pump/sink-config.ts';
import { recordOf } from '../../support/record-frames.ts';

const run = { node: 'eu-1', epoch: 1 };
const record = (changes: Partial<AnalyticsRecord> = {}): AnalyticsRecord => recordOf(run, 1, changes);

describe('filter', () => {
  const cases: readonly (readonly [string, SinkFilters, Partial<AnalyticsRecord>, boolean])[] = [
    ['lets all pass without lists', {}, {}, true],
    ['lets all pass with empty lists', { apiIds: [], responseCodes: [], skipOrgIds: [] }, {}, true],
    ['keeps an allowed API', { apiIds: ['orders', 'users'] }, {}, true],
    ['leaves out an API that is not allowed', { apiIds: ['users'] }, {}, false],
    ['leaves out a blocked API', { skipApiIds: ['orders'] }, {}, false],
    ['lets the block list win', { apiIds: ['orders'], skipApiIds: ['orders'] }, {}, false],
    ['keeps an allowed organisation', { orgIds: ['acme'] }, {}, true],
    ['leaves out a blocked organisation', { skipOrgIds: ['acme'] }, {}, false],
    ['keeps an allowed status', { responseCodes: [200, 404] }, { response_code: 404 }, true],
    ['leaves out a status that is not allowed', { responseCodes: [200] }, { response_code: 404 }, false],
    ['leaves out a blocked status', { skipResponseCodes: [404] }, { response_code: 404 }, false],
    ['asks every list', { apiIds: ['orders'], orgIds: ['other'] }, {}, false],
  ];
  for (const [name, filters, changes, isKept] of cases) {
    it(name, () => expect(createFilter(filters)(record(changes))).to.equal(isKept));
  }
});

describe('map', () => {
  const detailed = record({ raw_request: 'QUJDREVGR0g=', raw_response: 'QUJD' });

  it('leaves a record alone when nothing is asked', () => expect(createMap({})(detailed)).to.equal(detailed));

  it('leaves out recorded detail', () =>
    expect(createMap({ omitDetailedRecording: true })(detailed)).to.include({ raw_request: '', raw_response: '' }));

  it('trims detail so that it still decodes', () => {
    const { raw_request, raw_response } = createMap({ maxRecordSize: 7 })(detailed);
    expect(Buffer.from(raw_request, 'base64').toString()).to.equal('ABC');
    expect(raw_response).to.equal('QUJD');
  });

  it('empties fields by their JSON names, and nothing else', () => {
    const ignoreFields = ['user_agent', 'network.bytes_in', 'tags', 'ext.request_id', 'geo.city.names', 'track_path'];
    const mapped = createMap({ ignoreFields })(record({ track_path: true }));
    expect(mapped).to.deep.equal({
      ...record(),
      user_agent: '',
      tags: [],
      track_path: false,
      network: { ...record().network, bytes_in: 0 },
      ext: { ...record().ext, request_id: '' },
    });
  });

  it('never changes the record it was given', () => {
    const given = Object.freeze({ ...record(), network: Object.freeze(record().network) });
    createMap({ ignoreFields: ['network.bytes_in'] })(given);
    expect(given.network.bytes_in).to.equal(212);
  });

  it('names the nearest field for one that does not exist', () =>
    expect(() => createMap({ ignoreFields: ['user_agnet'] })).to.throw('did you mean "user_agent"?'));

  it('keeps what identifies a record', () =>
    expect(() => createMap({ ignoreFields: ['ext.seq'] })).to.throw('cannot be emptied'));
});
