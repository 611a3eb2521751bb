import t from 'tap'
import { storableText } from '../../../../indexer/sources/rpc/foreign-text.ts'
import { unescaped } from '../../../../shared/secrets.ts'

void t.test('what Postgres would refuse does not get into a text', (t) => {
  t.equal(storableText('a\u0000b\r\n\tc\u007f'), 'a b c ')
  t.equal(storableText('half \ud83d, whole \u{1F600}'), 'half \u{FFFD}, whole \u{1F600}')
  t.equal(storableText('12345\u{1F600}', 6), '12345\u{FFFD}', 'cut through a pair')
  t.end()
})

void t.test('a percent sign need not begin an escape', (t) => {
  t.equal(unescaped('50%25off'), '50%off')
  t.equal(unescaped('50%off-abc'), '50%off-abc')
  t.end()
})
