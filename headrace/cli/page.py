def html_page(topology, title): return ""
