# What the page is made of, in order.
set(PAGE_STYLES page.css charts.css)
set(PAGE_SCRIPTS dom.js format.js terms.js table.js bars.js answer.js budget.js expected.js stragglers.js pipeline.js
                 collectives.js links.js units.js overlap.js kernels.js host.js memory.js inputs.js timeline_view.js
                 timeline.js timeline_controls.js roofline.js
                 findings.js predict.js plan.js flame.js stacks.js stacks_trace.js snapshot.js straggler_job.js main.js)
