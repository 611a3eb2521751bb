/**
 * The payment channel's code in every version of the built-in actors. Up to version 7 a code is a name
 * ("fil/7/paymentchannel") in an identity CID, the same on every network. From version 8 on it is the hash of a
 * program, one per network. An upgrade also changes the code of existing channels.
 */
const NAMED = [
  'bafkqafdgnfwc6mjpobqxs3lfnz2gg2dbnzxgk3a', // 0, which calls itself 1
  'bafkqafdgnfwc6mrpobqxs3lfnz2gg2dbnzxgk3a', // 2
  'bafkqafdgnfwc6mzpobqxs3lfnz2gg2dbnzxgk3a', // 3
  'bafkqafdgnfwc6nbpobqxs3lfnz2gg2dbnzxgk3a', // 4
  'bafkqafdgnfwc6njpobqxs3lfnz2gg2dbnzxgk3a', // 5
  'bafkqafdgnfwc6nrpobqxs3lfnz2gg2dbnzxgk3a', // 6
  'bafkqafdgnfwc6nzpobqxs3lfnz2gg2dbnzxgk3a', // 7
] as const

/** Versions 8 to 18; at the time of writing, 19 has the same code as 18. */
const MAINNET = [
  'bafk2bzacebalad3f72wyk7qyilvfjijcwubdspytnyzlrhvn73254gqis44rq',
  'bafk2bzacebhdvjbjcgupklddfavzef4e4gnkt3xk3rbmgfmk7xhecszhfxeds',
  'bafk2bzaceartlg4mrbwgzcwric6mtvyawpbgx2xclo2vj27nna57nxynf3pgc',
  'bafk2bzaceb4e6cnsnviegmqvsmoxzncruvhra54piq7bwiqfqevle6oob2gvo',
  'bafk2bzacectv4cm47bnhga5febf3lo3fq47g72kmmp2xd5s6tcxz7hiqdywa4',
  'bafk2bzacebntdhfmyc24e7tm52ggx5tnw4i3hrr3jmllsepv3mibez4hywsa2',
  'bafk2bzaceavslp27u3f4zwjq45rlg6assj6cqod7r5f6wfwkptlpi6j4qkmne',
  'bafk2bzacea3dpsfxw7cnj6zljmjnnaubp43a5kvuausigztmukektesg2flei',
  'bafk2bzaceanasifggzenhwl5cchnv3rro63mcodpveix6glfkzuwl3qknqn6k',
  'bafk2bzaceavlvljdoww4v3bp225p6lurcxtdsub4rg33ee6xhvhkyyysnenac',
  'bafk2bzacebuw6l22xfht4gv4q5ltk66sy6ibp6ou63wvy6zaiyzievu3cl4v2',
] as const

/** Same order as above. The last code was live from epoch 2523454 to 2558014; nodes do not report it. */
const CALIBRATIONNET = [
  'bafk2bzaceblot4pemhfgwb3lceellwrpgxaqkpselzbpqu32maffpopdunlha',
  'bafk2bzacec4kg3bfjtssvv2b4wizlbdk3pdtrg5aknzgeb3a6rmksgurpynca',
  'bafk2bzacea7ngq44gedftjlar3j3ql3dmd7e7xkkb6squgxinfncybfmppmlc',
  'bafk2bzaceazwhm63kyp47pste5i5acnuhosrgythyagf3kc5clogiqqx6vkzk',
  'bafk2bzacebaxhk4itfiuvbftg7kz5zxugqnvdgerobitjq4vl6q4orcwk6wqg',
  'bafk2bzaceasmgmfsi4mjanxlowsub65fmevhzky4toeqbtw4kp6tmu4kxjpgq',
  'bafk2bzacedbit7oo6lryhbo64uikvtjtfcth6oxwy3eebxerenu2h7rj44n24',
  'bafk2bzaceb3o3ayjxoi5dc3e6ysuyqtcwbas5cvl3mxhxn57ieackjah5dhe6',
  'bafk2bzaceaftvzd5t2wkmmsgs2lzndoqpb2fkhpzdafnuhxiw2abzzevdc6me',
  'bafk2bzacecudlzl2infgft4rxwwvsovts23ri2gi7dbfcblw2uny4y7rcjuni',
  'bafk2bzacecycr25bi4fqwpkrkyiarch3qlhakt6l5linxrs4vpjzv5a3a55rg',
  'bafk2bzaceaia5ufr2wyzbasrx6vcfeqjsnaqajmlrnp763cesa7pqvddaubyu',
] as const

/** Code CIDs as nodes print them, the oldest version first. */
export const PAYMENT_CHANNEL_CODES: readonly string[] = [...NAMED, ...MAINNET, ...CALIBRATIONNET]

const CODES = new Set(PAYMENT_CHANNEL_CODES)

/** Returns whether an actor of this code is a payment channel, on any network. */
export function isPaymentChannelCode(cidText: string): boolean {
  return CODES.has(cidText)
}
