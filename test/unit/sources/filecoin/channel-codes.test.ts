import t, { type Test } from 'tap'
import { ChannelCodes } from '../../../../indexer/sources/filecoin/channel-codes.ts'
import { PAYMENT_CHANNEL_CODES } from '../../../../shared/filecoin/actor-codes.ts'
import { answeringClient } from '../../../helpers/node-store.ts'

const NEW_CODE = 'bafkqafdgnfwc6obpobqxs3lfnz2gg2dbnzxgk3a'
const OTHER_CODE = 'bafkqadtgnfwc6obpnv2wy5djonuwo'
const LATER_CODE = 'bafkqafdgnfwc6ojpobqxs3lfnz2gg2dbnzxgk3a'
const UNSUPPORTED = `"error":{"code":-32601,"message":"method not found"}`
const UPGRADE = { number: 5, hash: 'upgrade' }
const AFTER = { number: 6, hash: 'after' }

function codesOf(t: Test, answer: (method: string, params: unknown[]) => string) {
  const reports: string[] = []
  const rpc = answeringClient(['http://node.example'], answer)
  t.teardown(() => rpc.close())
  const codes = new ChannelCodes(rpc, (level, message) => reports.push(`${level} ${message}`))
  return { codes, reports }
}

void t.test('a code that no node can tell is reported once, with the tipset to read again', async (t) => {
  const { codes, reports } = codesOf(t, () => UNSUPPORTED)
  await codes.learn(PAYMENT_CHANNEL_CODES, UPGRADE)
  t.same(reports, [], 'those that are known need no node')
  await codes.learn([NEW_CODE], UPGRADE)
  await codes.learn([NEW_CODE], AFTER)
  await codes.learn([NEW_CODE, OTHER_CODE], AFTER)
  t.notOk(codes.has(NEW_CODE))
  t.equal(reports.length, 2)
  t.match(reports[0], /^warn .* bafkqafdgnfwc6obpobqxs3lfnz2gg2dbnzxgk3a .* --from 5/)
  t.match(reports[1], /^warn .* bafkqadtgnfwc6obpnv2wy5djonuwo .* --from 6/)
})

void t.test(
  'a code is that of a channel by the network version of the tipset that it was used in',
  async (t) => {
    const { codes, reports } = codesOf(t, (method, params) => {
      if (method === 'StateNetworkVersion') {
        return `"result":${JSON.stringify(params).includes('upgrade') ? '30' : '31'}`
      }
      return `"result":{"paymentchannel":{"/":"${params[0] === 30 ? NEW_CODE : LATER_CODE}"}}`
    })
    await codes.learn([NEW_CODE, OTHER_CODE], UPGRADE)
    await codes.learn([NEW_CODE, LATER_CODE], AFTER)
    t.same(
      [NEW_CODE, OTHER_CODE, LATER_CODE].map((code) => codes.has(code)),
      [true, false, true],
    )
    t.same(reports, [])
  },
)
