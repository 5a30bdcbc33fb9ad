/** Runs the contract of the record log against its adapters. */
import { embeddedHarness } from '../support/record-log-harness.ts';
import { describeRecordLog } from './record-log.ts';

describeRecordLog('embedded, written by the way', () => embeddedHarness());
describeRecordLog('embedded, on the disk after each commit', () => embeddedHarness({ fsync: 'always' }));
