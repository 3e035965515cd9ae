/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM unwind_tables

#if !defined(_TRACE_UNWIND_TABLES_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_UNWIND_TABLES_H

#include <linux/tracepoint.h>
#include <linux/unwind_tables.h>

#define show_unwind_table_format(format)			\
	__print_symbolic(format,				\
			 { UNWIND_TABLE_SFRAME, "sframe" },	\
			 { UNWIND_TABLE_EH_FRAME, "eh_frame" })

DECLARE_EVENT_CLASS(unwind_tables,

	TP_PROTO(const struct unwind_table_info *info),

	TP_ARGS(info),

	TP_STRUCT__entry(
		__field(unsigned long, text_start)
		__field(unsigned long, text_end)
		__field(unsigned long, table_start)
		__field(unsigned long, table_end)
		__field(unsigned int, format)
		__field(unsigned int, origin)
	),

	TP_fast_assign(
		__entry->text_start = info->text_start;
		__entry->text_end = info->text_end;
		__entry->table_start = info->table_start;
		__entry->table_end = info->table_end;
		__entry->format = info->format;
		__entry->origin = info->origin;
	),

	TP_printk("text=%lx-%lx table=%lx-%lx format=%s by=%s",
		  __entry->text_start, __entry->text_end,
		  __entry->table_start, __entry->table_end,
		  show_unwind_table_format(__entry->format),
		  __print_symbolic(__entry->origin,
				   { UNWIND_TABLE_BY_EXEC, "exec" },
				   { UNWIND_TABLE_BY_PRCTL, "prctl" },
				   { UNWIND_TABLE_BY_DISCOVERY, "discovery" }))
);

/* A table was registered, at exec or by prctl(), or found by a walk. */
DEFINE_EVENT(unwind_tables, unwind_tables_register,
	TP_PROTO(const struct unwind_table_info *info),
	TP_ARGS(info)
);

/* A registered text got another table. */
DEFINE_EVENT(unwind_tables, unwind_tables_update,
	TP_PROTO(const struct unwind_table_info *info),
	TP_ARGS(info)
);

/* The program took a registration back. */
DEFINE_EVENT(unwind_tables, unwind_tables_unregister,
	TP_PROTO(const struct unwind_table_info *info),
	TP_ARGS(info)
);

/* Text or table was unmapped, or a child did not get it. */
DEFINE_EVENT(unwind_tables, unwind_tables_drop,
	TP_PROTO(const struct unwind_table_info *info),
	TP_ARGS(info)
);

/* A walk has looked for a table of some text, and there is none. */
TRACE_EVENT(unwind_tables_absent,

	TP_PROTO(const struct unwind_table_info *info),

	TP_ARGS(info),

	TP_STRUCT__entry(
		__field(unsigned long, text_start)
		__field(unsigned long, text_end)
		__string(name, info->reason_name)
	),

	TP_fast_assign(
		__entry->text_start = info->text_start;
		__entry->text_end = info->text_end;
		__assign_str(name);
	),

	TP_printk("text=%lx-%lx reason=%s",
		  __entry->text_start, __entry->text_end, __get_str(name))
);

/* A table is malformed, and will not be used in this process again. */
TRACE_EVENT(unwind_tables_disable,

	TP_PROTO(const struct unwind_table_info *info),

	TP_ARGS(info),

	TP_STRUCT__entry(
		__field(unsigned long, text_start)
		__field(unsigned long, text_end)
		__field(unsigned long, table_start)
		__field(unsigned long, table_end)
		__field(unsigned int, format)
		__field(unsigned int, reason)
		__field(unsigned int, offset)
		__string(name, info->reason_name)
	),

	TP_fast_assign(
		__entry->text_start = info->text_start;
		__entry->text_end = info->text_end;
		__entry->table_start = info->table_start;
		__entry->table_end = info->table_end;
		__entry->format = info->format;
		__entry->reason = info->reason;
		__entry->offset = info->reason_offset;
		__assign_str(name);
	),

	TP_printk("text=%lx-%lx table=%lx-%lx format=%s reason=%s(%u) offset=0x%x",
		  __entry->text_start, __entry->text_end,
		  __entry->table_start, __entry->table_end,
		  show_unwind_table_format(__entry->format),
		  __get_str(name), __entry->reason, __entry->offset)
);

#endif /* _TRACE_UNWIND_TABLES_H */

#include <trace/define_trace.h>
