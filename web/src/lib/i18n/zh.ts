// Simplified Chinese.

import type { Dictionary } from './index.svelte';

export const zh: Dictionary = {
  again: '重试', cancel: '取消', close: '关闭', no: '否', loading: '加载中…', loadFailed: '无法加载：', unreadable: '服务器目前无法读取此运行：', 'step.unknown': '计划中没有步骤“{id}”。', unsent: '您的修改尚未发送。再次关闭即放弃。', more: '加载更多', 'more.n': '还有 {n} 项', download: '下载', output: '输出',
  run: '运行', runs: '运行列表', 'runs.none': '还没有运行', 'runs.none.help': '在这里或终端里启动的运行都会出现在这个列表中。', newRun: '新建运行', report: '报告', language: '语言', find: '查找', filter: '筛选', 'filter.all': '显示全部',
  theme: '主题', 'theme.auto': '跟随系统', 'theme.light': '浅色', 'theme.dark': '深色',
  'link.live': '实时', 'link.connecting': '连接中…', 'link.stale': '连接已断开', 'link.denied': '无权访问',
  'denied.title': '此页面需要令牌', 'denied.text': '请打开服务器打印的完整地址，包括 # 号后面的全部内容。令牌也可能已被撤销。用以下命令打印新地址：',
  viewOnly: '此地址只能查看。', 'viewOnly.short': '只读',
  steps_one: '{n} 个步骤', steps_other: '{n} 个步骤', questions_one: '{n} 个待答问题', questions_other: '{n} 个待答问题', files_one: '{n} 个文件', files_other: '{n} 个文件',
  'calls.model_one': '{n} 次模型调用', 'calls.model_other': '{n} 次模型调用', 'calls.tool_one': '{n} 次工具调用', 'calls.tool_other': '{n} 次工具调用',

  plan: '计划', 'plan.rows': '计划：带时间条的行', 'plan.graph': '计划：图', 'plan.view': '计划的显示方式', 'plan.none': '还没有计划。',
  'fold.done_one': '{n} 个已完成步骤', 'fold.done_other': '{n} 个已完成步骤', 'fold.steps_one': '{n} 个步骤（已折叠）', 'fold.removed_one': '{n} 个已移除步骤', 'fold.removed_other': '{n} 个已移除步骤', 'fold.steps_other': '{n} 个步骤（已折叠）',
  'graph.tooLarge_one': '{n} 个节点太多，无法画图', 'graph.tooLarge_other': '{n} 个节点太多，无法画图', 'graph.failed': '无法绘制：',
  path: '关键路径', 'path.help': '显示耗时最长的步骤链', 'key.path': '关键路径', 'next.in': '{time} 后重试', 'next.now': '正在重试', 'next.model': '模型调用，第 {n} 次，共 {of} 次', 'next.step': '第 {n} 次，共 {of} 次', zoom: '缩放', 'zoom.in': '放大', 'zoom.out': '缩小', 'zoom.fit': '适应',
  revisions: '修订', 'revisions.none': '计划没有改动。', 'mark.added': '新增', 'mark.changed': '改动', 'mark.removed': '移除', removedIn: '在 r{n} 中移除',
  phases: '阶段', 'phase.understanding': '理解', 'phase.approach': '方案', 'phase.planning': '计划', 'phase.execution': '执行', 'phase.validation': '验证',
  'phase.retries': '重新询问', 'phase.messages': '消息', 'phase.warnings': '警告', 'phase.suggestions': '建议', 'phase.output': '结果', confidence: '置信度',

  'step.n': '步骤 {n}', 'step.of': '步骤 {n}/{total}', 'step.parts': '步骤的各部分', 'run.parts': '运行的各部分',
  'tab.now': '尝试', 'tab.proof': '证明', 'tab.diff': '改动', 'tab.log': '日志', 'tab.artifacts': '产物', 'tab.talk': '对话', 'tab.about': '概况', 'tab.actions': '操作', 'tab.revisions': '修订', 'tab.answers': '回答',
  tries: '尝试', 'tries.none': '尚未开始。', 'try.n': '第 {n} 次尝试', 'try.of': '第 {n} 次尝试，最多 {max} 次', 'try.rolledBack': '已回滚', 'try.red': '未完成，以下检查失败：', reflection: '原因：', 'reflection.fix': '对策：', rung: '下一步', ladder: '恢复',
  actions: '操作', 'actions.none': '还没有操作。', 'actions.run': '可对运行执行的操作', 'artifacts.none': '没有产物。', 'log.none': '没有日志。', 'log.more_one': '前面还有 {n} 行，共 {size}', 'log.more_other': '前面还有 {n} 行，共 {size}',
  'checks.none': '此步骤没有检查。', 'check.red': '失败', 'check.green': '通过', 'check.unknown': '未运行', 'check.notDecisive': '非决定性', proven: '已证明：有检查之前失败，现在通过', unproven: '没有“之前失败、现在通过”的检查来证明', proofs: '检查的输出',
  facts: '信息', id: '编号', type: '类型', needs: '依赖', 'files.title': '文件', 'files.tools': '.git 与缓存中的文件', outputs: '预期产出', milestone: '里程碑', estimate: '预计', critical: '关键', state: '状态', reason: '原因', duration: '用时',

  diff: '差异', 'diff.none': '没有改动。', 'diff.inline': '单栏', 'diff.split': '双栏', 'diff.style': '差异的显示方式', 'diff.binary': '二进制文件。', 'diff.empty': '内容相同。',
  'diff.unchanged_one': '{n} 行未改动', 'diff.unchanged_other': '{n} 行未改动', 'diff.more_one': '再显示 {n} 行', 'diff.more_other': '再显示 {n} 行', 'diff.long_one': '{n} 行：点开显示', 'diff.long_other': '{n} 行：点开显示', 'diff.truncated_one': '已截断：完整差异有 {n} 行。', 'diff.truncated_other': '已截断：完整差异有 {n} 行。',
  'file.added': '新增', 'file.modified': '修改', 'file.deleted': '删除', 'file.renamed': '重命名',

  'q.why': '原因：', 'q.allow': '允许一次', 'q.allowRun': '本次运行内允许', 'q.edit': '编辑', 'q.deny': '拒绝', 'q.words': '用文字回答', 'q.wordsLabel': '你的回答', 'q.editLabel': '改为执行', 'q.send': '发送', 'q.sendEdited': '按修改后的允许',
  'q.hidden_one': '{n} 个不可见字符以名称显示', 'q.hidden_other': '{n} 个不可见字符以名称显示', 'q.changed': '问题已改变，请重新阅读。', 'q.timeout': '{time} 后视为拒绝', 'q.timedOut': '已超时',
  'qkind.approval': '审批', 'qkind.confirmation': '确认', 'qkind.clarification': '问题', 'qkind.question': '问题',
  'answers.none': '没有提过问题。',
  'strategy.conversation': '带工具的对话', 'purpose.understand': '调查', 'purpose.act': '步骤', 'purpose.act and write': '步骤', 'purpose.write': '文件', 'purpose.edit': '文件', 'purpose.do': '步骤', 'purpose.plan': '计划', 'purpose.approach': '方案', 'purpose.reflect': '反思', 'purpose.repair': '修复',

  now: '当前', 'now.writing': '模型正在编写', 'now.nothing': '没有正在执行的操作。', 'now.checks': '检查 {green}/{total}', 'now.tries_one': '{n} 次尝试', 'now.tries_other': '{n} 次尝试', 'now.failed_one': '{n} 次失败', 'now.failed_other': '{n} 次失败', time: '时间', cost: '费用', tokens: '词元', 'tokens.detail': '提示 {prompt}（缓存 {cached}），输出 {output}', budgets: '预算与计数', task: '任务', folder: '文件夹', model: '模型', strategy: '策略', verdict: '结论', exit: '退出码 {code}', proof: '证明', 'proof.level': '证明 {level} 级', started: '开始', ended: '结束', forkedFrom: '分支自', diagnosis: '诊断', environment: '环境',
  'proof.A': '用户或项目的检查之前失败，现在通过', 'proof.B': '运行自己写的测试之前失败，现在通过', 'proof.C': '没有任何之前失败的检查已知现在通过',
  'counter.step_retry_count': '步骤重试', 'counter.single_step_repair_count': '步骤修复', 'counter.task_replan_count': '重新计划', 'counter.consecutive_failures': '连续失败',
  'talk.none': '没有对话。', 'talk.calls_one': '{n} 次调用', 'talk.calls_other': '{n} 次调用', 'talk.truncated_one': '此处省略 {n} 个字符', 'talk.truncated_other': '此处省略 {n} 个字符', 'role.system': '系统', 'role.user': '发给模型', 'role.assistant': '模型', 'role.tool': '结果',
  'report.contents': '目录', 'report.recoveries': '恢复', 'report.usage': '词元与费用', 'report.leftOut': '省略的内容', 'report.notPart': '不在此报告中', 'report.ownTests': '完成，由其自写测试证明', 'report.partlyUndone': '部分已撤销', 'report.undone': '更改已于 {time} 撤销。', 'report.going': '写此报告时（{time}）运行尚未结束。', 'report.calls': '模型 + 工具调用', 'report.steps': '步骤', 'cost.unknown': '未知',
  'report.waiting': '等待人来回答', 'diagnosis.cause': '根本原因：', 'diagnosis.tried': '依次尝试过', 'diagnosis.left': '留在工作区中的', 'diagnosis.nothing': '没有：未留下任何更改。', 'diagnosis.outside': '留在工作区之外的', 'diagnosis.next': '下一步',
  'report.checks.none': '最终文件树上没有运行检查。', 'report.reused': '沿用先前结果，其依赖未变', 'report.suite': '项目测试', 'report.before': '之前：', 'report.after': '现在：', 'report.regressions': '之前通过、现在失败', 'report.noLongerRun': '不再运行', 'report.altered': '被改动的测试', 'report.ownTests.list': '运行所写的测试：之前失败，现在通过', 'report.notes': '备注', 'origin.user': '用户给出', 'origin.project': '项目自带', 'origin.plan': '计划提出',
  'report.lost_one': '{n} 次失败的尝试用了', 'report.lost_other': '{n} 次失败的尝试用了', 'report.purpose': '用途', 'report.calls.short': '调用', 'report.prompt': '提示', 'report.cached': '缓存', 'report.output': '输出', 'report.total': '合计', 'report.starts': '由 {n} 个进程接续', 'report.system': '系统', 'report.pushed': '已推送', 'report.pushedTo': '到 {address} 的分支 {branch}', 'report.sandbox': '命令沙箱', 'report.sandbox.none': '无',
  'omit.none': '没有：全部输出、差异和消息都在这里。', 'omit.sum_one': '{n} 项', 'omit.sum_other': '{n} 项', 'omit.diffProblem': '无法得知运行改动了什么：', 'omit.limits': '上限：文件 {file}，每个输出两端各 {log} 个字符，每条消息 {message} 个字符，每个差异 {patch} 行。机密已替换为说明。日志中有全部内容：surefoot show。',
  'omit.outputs_one': '因体积省略 {n} 个输出（{size} 个字符）', 'omit.outputs_other': '因体积省略 {n} 个输出（{size} 个字符）', 'omit.output_middles_one': '{n} 个输出的中间部分（{size} 个字符）', 'omit.output_middles_other': '{n} 个输出的中间部分（{size} 个字符）', 'omit.binary_outputs_one': '{n} 个非文本输出', 'omit.binary_outputs_other': '{n} 个非文本输出', 'omit.lost_outputs_one': '{n} 个已不再保存的输出', 'omit.lost_outputs_other': '{n} 个已不再保存的输出',
  'omit.messages_one': '{n} 条对话消息（{size} 个字符）', 'omit.messages_other': '{n} 条对话消息（{size} 个字符）', 'omit.message_ends_one': '{n} 条消息的末尾（{size} 个字符）', 'omit.message_ends_other': '{n} 条消息的末尾（{size} 个字符）', 'omit.diffs_one': '{n} 个差异', 'omit.diffs_other': '{n} 个差异', 'omit.patches_one': '{n} 个差异的末尾（{size} 行）', 'omit.patches_other': '{n} 个差异的末尾（{size} 行）', 'omit.actions_one': '最早的 {n} 个操作', 'omit.actions_other': '最早的 {n} 个操作', 'omit.texts_one': '{n} 段长文本的中间部分（{size} 个字符）', 'omit.texts_other': '{n} 段长文本的中间部分（{size} 个字符）', 'omit.tool_files_one': '.git 与工具目录中的 {n} 个改动文件', 'omit.tool_files_other': '.git 与工具目录中的 {n} 个改动文件',
  'report.made': '报告时间 {time}，Surefoot {version}',

  pause: '暂停', resume: '继续', cancelRun: '取消运行', undo: '撤销', fork: '分支', skip: '跳过', retry: '重试', editPlan: '编辑计划', 'editPlan.help': '尚未开始的步骤。可以修改、移动、删除或添加。', 'editPlan.steps': '步骤（TOML）', 'editPlan.send': '更改计划',
  'confirm.cancel': '取消这次运行？', 'confirm.cancel.text': '它会立即结束。已完成的保留，之后可以撤销。', 'confirm.undo': '撤销这次运行？', 'confirm.undo.text': '它对文件的改动会被还原。之后又被改动的文件会报告出来，不会覆盖。', 'confirm.undoStep': '撤销这个步骤？', 'confirm.undoStep.text': '文件回到这个步骤之前，后面的步骤一并撤销。之后又被改动的文件会报告出来，不会覆盖。',
  'fork.help': '在新文件夹中建立新运行，文件和日志与该步骤之前相同。', 'fork.at': '从此步骤之前', 'fork.folder': '新文件夹', 'fork.start': '立即开始', 'fork.none': '还没有步骤开始。',
  'cmd.answer': '回答', 'sent.sending': '发送中…', 'sent.queued': '等待中', 'sent.accepted': '已接受', 'sent.at': '于 #{seq}', 'sent.refused': '被拒绝', 'sent.lost': '未送达',
  'new.task.hint': '要做什么？', 'new.checks': '检查', 'new.checks.help': '每行一条命令。它们最后必须成功，这就是证明。', 'new.model.hint': '按配置', 'new.planOnly': '只做计划', 'new.approve': '先询问', 'new.maxTime': '时间上限', 'new.maxCost': '费用上限（美元）', 'new.worktree': '在文件夹的副本中工作', 'approve.ask': '每个改动和命令', 'approve.auto-edit': '每个命令', 'approve.auto': '文件夹之外的影响', 'approve.never': '不询问；需要批准的不执行', 'new.start': '开始',

  'state.running': '运行中', 'state.failed': '失败', 'state.waiting': '等你回答', 'state.healed': '已恢复', 'state.ready': '就绪', 'state.pending': '待办', 'state.done': '完成', 'state.partial': '部分完成', 'state.degraded': '降级', 'state.skipped': '已跳过', 'state.blocked': '受阻', 'state.removed': '已移除', 'state.paused': '已暂停', 'state.interrupted': '已中断', 'state.undone': '已撤销', 'state.refused': '被拒绝', 'state.unverified': '未验证', 'state.plan': '计划', 'state.queued': '等待工作进程', 'state.succeeded': '完成',
  'filter.running': '运行中', 'filter.waiting': '等待', 'filter.failed': '失败', 'filter.healed': '已恢复', 'filter.todo': '待办', 'filter.done': '完成', 'filter.skipped': '跳过', 'filter.removed': '移除',
  'orchestration.INTAKE': '接收', 'orchestration.PLANNING': '计划', 'orchestration.EXECUTING': '执行', 'orchestration.RECOVERING': '恢复', 'orchestration.VERIFYING': '验证', 'orchestration.BLOCKED': '受阻', 'orchestration.DONE': '完成',
  'verdict.verified': '已验证', 'verdict.unverified': '未验证', 'verdict.failed': '失败', 'verdict.blocked': '受阻', 'verdict.waiting': '等待', 'verdict.budget': '超出预算', 'verdict.loop': '已停止：没有进展', 'verdict.time': '超时', 'verdict.cancelled': '已取消', 'verdict.interrupted': '已中断',
  'rung.retry_later': '稍后重试', 'rung.adjust_parameters': '调整', 'rung.alternative_tool': '换工具', 'rung.candidates': '多个候选', 'rung.repair_step': '修复步骤', 'rung.skip_step': '跳过', 'rung.fallback': '降级', 'rung.failure_branch': '失败分支', 'rung.replan_task': '重新计划', 'rung.next_approach': '下一方案', 'rung.give_up': '放弃',
  'type.preparation': '准备', 'type.code_generation': '写代码', 'type.configuration': '配置', 'type.file_operation': '文件操作', 'type.command_execution': '执行命令', 'type.testing': '测试', 'type.deployment': '部署', 'type.cleanup': '清理',

  stats: '统计', 'stats.period': '时间范围', 'stats.24h': '24 小时', 'stats.7d': '7 天', 'stats.30d': '30 天', 'stats.all': '全部', 'stats.folders': '所有文件夹', 'stats.none': '这段时间内没有开始的运行。', 'stats.nothing': '无。', 'stats.table': '表格', 'stats.unreadable_one': '{n} 个运行无法读取，未计入', 'stats.unreadable_other': '{n} 个运行无法读取，未计入',
  'stats.results': '每日结果', 'stats.levels': '按证明级别的结果', 'stats.durations': '运行的工作时间', 'stats.rungs': '恢复', 'stats.checks': '最慢的检查', 'stats.failures': '步骤失败', 'stats.causes': '找到的原因', 'stats.tokens': '每日词元', 'stats.cost': '每日费用', 'stats.models': '模型',
  'stats.day': '日期', 'stats.result': '结果', 'stats.taken': '采用', 'stats.healed': '已恢复', 'stats.command': '命令', 'stats.times': '次数', 'stats.kind': '类别', 'stats.number': '数量', 'stats.median': '中位时间', 'stats.p90': 'p90 {time}', 'stats.retries': '步骤重试', 'stats.of': '共 {n}', 'stats.fresh': '提示', 'stats.cached': '提示（缓存）', 'stats.output': '输出', 'stats.cachedShare': '缓存 {share}', 'stats.over': '超过 {cost}', 'stats.unknown': '未知', 'stats.longer': '更长', 'stats.seconds': '{n} 秒', 'stats.minutes': '{n} 分钟', 'stats.hours': '{n} 小时',
  'result.verified': 'A 已验证', 'result.own_test': 'B 自写测试', 'result.done': 'C 完成', 'result.failed': '失败', 'result.waiting': '等待', 'result.undone': '已撤销', 'result.partly_undone': '部分已撤销', 'result.cancelled': '已取消', 'result.planned': '仅计划', 'result.unfinished': '未结束',

  keys: '按键', 'keys.everywhere': '任何地方', 'keys.plan': '计划与步骤', 'keys.steer': '操控', 'keys.questions': '问题',
  'key.help': '此帮助', 'key.stats': '统计', 'key.new': '新建运行', 'key.home': '运行列表', 'key.theme': '浅色、深色、跟随系统', 'key.language': '语言', 'key.move': '下一个、上一个', 'key.open': '打开', 'key.expand': '显示、隐藏尝试', 'key.graph': '图或行', 'key.find': '查找', 'key.back': '关闭步骤', 'key.tab': '标签页', 'key.skip': '跳过步骤', 'key.retry': '重试步骤', 'key.pause': '暂停、继续', 'key.cancel': '取消运行', 'key.undo': '撤销运行', 'key.undoStep': '撤销该步骤及之后的步骤', 'key.fork': '分支运行', 'key.edit': '编辑计划', 'key.report': '保存报告', 'key.question': '到下一个问题', 'key.allow': '允许一次（在问题上）', 'key.allowRun': '本次运行内允许', 'key.editAnswer': '编辑', 'key.deny': '拒绝',
};
